// Package manifest reads YAML and JSON files with Kubernetes objects, finds the line
// of a field, and edits files without losing their comments.
//
// A file has documents, separated by lines with three dashes. A document holds one
// object, or a list of objects. A path names a field as Kubernetes writes it in error
// messages: spec.versions[0].schema. Such a text may be ambiguous, because a name may
// have dots in it; the document that has the field decides.
//
//	names, err := manifest.Expand([]string{"config/crd", "-"})
//	for _, doc := range manifest.Split(name, data) {
//		objects, err := doc.Objects()
//		position := doc.Locate("spec.versions[0].served")
//	}
//
// A template is a document with actions of Go templates, as Helm charts have them. [SplitTemplate] reads it without the
// actions in its metadata. A patch changes an object with kustomize; [Patches] names those that a kustomization lists.
//
// Values are read as kubectl reads them, so that `yes` is a boolean here too. Positions
// need a second parser; it runs only for a document that is asked for a position. A
// [Document] is not safe for concurrent use. Its text never changes: an edit returns a
// new document.
package manifest
