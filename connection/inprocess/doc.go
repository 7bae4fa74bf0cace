// Package inprocess creates informers that read the objects of an API server in the same process without requests.
//
//	factory := inprocess.NewFactory(server, source)
//	pods := factory.Core().V1().Pods().Informer()
//
// A watch through the API has a connection, an encoder, a decoder and a large stack besides. The informers hold copies, so they may change
// objects as other informers do, for example in a transform function. If the [Source] has no objects for a resource, because another server
// answers the requests for it, the informer reads through the API. An informer asks the source before each list and each watch.
package inprocess
