// Package noderestriction is the admission plugin NodeRestriction. It limits a node to writes of its own objects, also where a
// role allows more. Package access/node decides which requests of a node are authorized; the plugin sees the object too.
//
//	plugin := noderestriction.New(noderestriction.Config{
//		Pods: pods, Client: client.CoreV1(), APIAudiences: audiences, Relations: relations,
//	})
package noderestriction
