// Package keep is the admission plugin that refuses to delete objects that must stay.
//
// An object is kept if it has the annotation holdfast.dev/keep, or if a rule "no-delete" selects it ([Rules]). A namespace and a
// CustomResourceDefinition are also kept while they hold a kept object, or, with the value while-objects, while they hold any object.
//
//	plugin := keep.New(authorizer)
//	plugin.SetObjects(objects) // before the server answers requests
//	err := plugin.CheckObject(ctx, resource, pod)
//
// The answer to a refused deletion is 409 with causes of the type [CauseTypeObjectKept], see [IsRefusal]. A client that changes or
// removes the annotation needs the verb unlock for the object. An object that is terminating is never kept: its deletion was decided
// before. The cost of a write of an object without the annotation is two lookups in maps.
//
// All functions are safe for concurrent use.
package keep
