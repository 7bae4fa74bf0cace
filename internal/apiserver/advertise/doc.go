// Package advertise maintains the Service kubernetes in the namespace default, with the
// addresses of all API servers. Clients inside the cluster use it to find the API.
//
//	publisher := advertise.New(advertise.Config{Client: client, Service: service, Own: own})
//	err = publisher.Publish(ctx) // once, before the server is ready
//	publisher.Run(ctx)
//
// The publisher restores the Service and its endpoints at once when a client deletes or
// changes them. Servers that share an etcd have a Lease each in kube-system. A server that
// stops leaves the list at once. A server that dies leaves it when its Lease has expired.
//
// The publisher writes only what differs. A server without replicas sends no requests while
// nothing changes.
package advertise
