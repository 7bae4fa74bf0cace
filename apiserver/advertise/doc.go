// Package advertise keeps the Service kubernetes in the namespace default, with
// the addresses of the servers behind it: clients find the API there.
//
//	publisher, err := advertise.New(advertise.Config{Client: client, Service: service, Own: own})
//	err = publisher.Publish(ctx) // once, before the server is ready
//	publisher.Run(ctx)
//
// What somebody deletes or changes comes back at once. Servers that share an
// etcd know each other by a Lease each in kube-system: a server that says
// goodbye leaves the list at once, one that dies when its Lease has run out.
//
// Promises: nothing is written that is right already, and a server without
// replicas asks for nothing while nothing changes.
package advertise
