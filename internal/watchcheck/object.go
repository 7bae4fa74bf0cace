package watchcheck

import (
	"encoding/json"
	"maps"
	"strconv"
	"unique"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Object is an object as JSON has it.
type Object = map[string]any

// Form says which part of the objects a stream shows.
type Form int

const (
	// Whole objects.
	Whole Form = iota
	// Metadata only, as in PartialObjectMetadata and in the rows of a Table.
	Metadata
)

// shown is an object in a list or an event, in the form of the stream.
type shown struct {
	key      string
	revision uint64
	// text is the object as JSON, without apiVersion, kind and resourceVersion. Equal texts share their memory.
	text unique.Handle[string]
}

// show returns an object in a form.
func (f Form) show(o Object) shown {
	return shown{key: KeyOf(o), revision: RevisionOf(o), text: unique.Make(f.text(o))}
}

// text returns the part of an object that the form shows.
func (f Form) text(o Object) string {
	metadata, _ := o["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	delete(metadata, "resourceVersion")
	part := any(metadata)
	if f == Whole {
		whole := maps.Clone(o)
		whole["metadata"] = metadata
		// The objects of a list need not have their kind.
		delete(whole, "apiVersion")
		delete(whole, "kind")
		part = whole
	}
	text, err := json.Marshal(part)
	if err != nil {
		return err.Error() // an object that is not JSON equals no other one
	}
	return string(text)
}

// KeyOf returns namespace and name of an object.
func KeyOf(o Object) string { return field(o, "namespace") + "/" + field(o, "name") }

// RevisionOf returns the resourceVersion of an object or a list, 0 if it has none.
func RevisionOf(o Object) uint64 {
	revision, err := strconv.ParseUint(field(o, "resourceVersion"), 10, 64)
	if err != nil {
		return 0
	}
	return revision
}

func field(o Object, name string) string {
	text, _, _ := unstructured.NestedString(o, "metadata", name)
	return text
}
