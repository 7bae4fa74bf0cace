// Package referrers is the index of references to ConfigMaps and Secrets: which objects refer to which of them, and since when an object is
// unreferenced.
//
//	index := referrers.New()
//	options.Observers = index.Observe(observers) // the changes of built-in kinds
//	index.Start(referrers.Config{...})
//	go index.Run(ctx)                            // the changes of custom resources
//	since, ok := index.Unused(references.Secret, "shop", "db-1")
//
// Each server process has an index. It sees the changes of built-in kinds before the watch caches do, and those of custom resources where
// they are stored, with one watch for each API group. Package references finds the references in an object. The rules of a custom resource
// are those that its definition declares in the annotation holdfast.dev/references, else those of Gateway API, else every string of the
// object may be a name. Declared places are looked up in the stored object. A definition with several versions and a conversion webhook
// may store them at other places, so that every string of its objects counts too.
//
// The index keeps a hash of eight bytes for each reference. The hash of a process has a random seed, so that no client can choose names with
// equal hashes. A collision makes an object count as referenced, never the reverse.
//
// An object in a namespace refers to objects of the same namespace. A reference into another namespace counts if a ReferenceGrant of Gateway
// API in that namespace allows it, so that a tenant cannot keep objects of another one. A reference without a namespace in an object that has
// none counts in every namespace. An object in a namespace with a placeholder in a name, or with more than maxKeys references, counts as
// a reference to every ConfigMap and Secret of its namespace. An object without a namespace with more than maxClusterKeys references, or more than
// maxPatterns with placeholders, counts as a reference to those of all namespaces.
//
// The objects of aggregated API servers do not count.
//
// An Index is safe for concurrent use.
package referrers
