// Package inprocess lets informers and the garbage collector read the objects of an API server in the same process without requests.
//
//	factory := inprocess.NewFactory(server, source)
//	pods := factory.Core().V1().Pods().Informer()
//
// A [Source] has the objects. If it has none of a resource, because another server answers the requests for it, the informer reads through the
// API. An informer asks the source before each list and each watch.
//
// The package only makes the same answers cheaper. A watch through the API has a connection, an encoder, a decoder and a large stack
// besides. Without these, the server at rest takes 157 MB instead of 175 MB (docs/costs.md, decisions 0098 and 0100). With the build tag plain,
// every informer and the garbage collector read through the API: see choice.go and choice_plain.go.
//
// It is right as long as this holds:
//
//   - No reader changes an object of a watch cache. An informer holds the objects of a list of the watch cache, or copies that share
//     their parts with the watch cache ([Keeper]), so its users change none of them, as for every shared informer. A transform function makes a new object. If an
//     object of a watch cache differs from etcd, an audit finds it (package cacheaudit). The garbage collector reads the metadata of the
//     objects and changes nothing. With KUBE_CACHE_MUTATION_DETECTOR=true in its environment, a process ends if a user of an informer changes
//     an object.
//   - A store returns the objects as the API does: in the version of the resource, with the Go types of k8s.io/api, and with defaults.
//   - The readers are parts of the server that act for the server. Through the API they would send their requests as an administrator
//     without limits, so authorization would allow each of them. A source is not given to code that acts for a client.
//   - Both ways show the replacement of an object as a change, with another UID. A reader that decides about requests has the old object or
//     the new one at every moment.
//   - A source has no objects of a resource while another server answers the requests for it.
//
// TestInformersEqualPlain in package apiserver compares the informers with the library's informers, which read through the API: both see the
// same random changes of several kinds and must hold equal objects. It fails if an informer did not read in the process.
package inprocess
