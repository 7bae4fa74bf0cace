// Package replacement has the rules of replacements: which objects may be replaced by new ones of the same name, what is lost, and what
// becomes of the dependents.
//
// A replacement deletes an object and creates another one of the same kind and name, in one write of the store. So no reader sees a
// moment without the object. The new object has another UID. A Swap is the replacement that a request makes; it is in the context of
// the request, because plugins of admission and the storage need it. Most watches show a replacement as a deletion and a creation; a watch
// whose context is one of AsChanges shows it as a change.
package replacement
