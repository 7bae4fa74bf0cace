// Package subresource serves the subresources that kinds have in common: status and
// scale. Built-in kinds, CustomResourceDefinitions and custom resources all use it.
//
//	status := subresource.NewStatus(store, strategy)
//	scale := subresource.NewScale(subresource.ScaleConfig{Store: store, ...})
//
// Both work on the store of the kind and are destroyed with it. A [Part] is a subresource
// that writes another part of the object, such as the resources of a pod. [ScaleManagers]
// translates managed fields between an object and its Scale. [ResetFields] tells
// server-side apply which fields an endpoint does not write.
package subresource
