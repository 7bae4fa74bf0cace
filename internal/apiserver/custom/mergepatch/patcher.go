package mergepatch

import "holdfast.dev/holdfast/internal/apiserver/custom/object"

// Patcher applies JSON merge patches to the objects of a version. It is safe for concurrent use.
type Patcher interface {
	// Patch returns a stored object with a patch, which is valid JSON. It does not change the stored object. The errors have the types
	// and the words of k8s.io/apiserver.
	Patch(stored *object.Object, patch []byte) (Result, error)
}

// Result is a patched object: the object itself, or its text.
type Result struct {
	// Object may share values with the stored object. It conforms to the schema, as the stored object does, and the patch has no
	// duplicate keys. It is nil if the caller must decode the text.
	Object *object.Object
	// Text is the JSON text of the object. It may have any fields.
	Text []byte
}
