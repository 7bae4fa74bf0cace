package served

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/client-go/util/jsonpath"

	"holdfast.dev/holdfast/internal/apiserver/custom/kind"
	"holdfast.dev/holdfast/internal/apiserver/custom/object"
)

// selection matches the objects of a version with label and field selectors.
type selection struct {
	namespaced bool
	fields     []selectable
}

// selectable is a field that clients can use in a field selector.
type selectable struct {
	name string
	path *jsonpath.JSONPath
}

func newSelection(v *kind.Version) selection {
	s := selection{namespaced: v.Kind.Namespaced()}
	for _, f := range v.Spec.SelectableFields {
		path := jsonpath.New(f.JSONPath).AllowMissingKeys(true)
		if err := path.Parse("{" + f.JSONPath + "}"); err == nil { // validation of the definition has parsed it
			s.fields = append(s.fields, selectable{name: strings.TrimPrefix(f.JSONPath, "."), path: path})
		}
	}
	return s
}

func (s selection) predicate(label labels.Selector, f fields.Selector) storage.SelectionPredicate {
	return storage.SelectionPredicate{Label: label, Field: f, GetAttrs: s.attributes}
}

// attributes returns the labels and the fields that label and field selectors match.
func (s selection) attributes(obj runtime.Object) (labels.Set, fields.Set, error) {
	u, ok := obj.(*object.Object)
	if !ok {
		return nil, nil, fmt.Errorf("unexpected object %T", obj)
	}
	set := fields.Set{"metadata.name": u.GetName()}
	if s.namespaced {
		set["metadata.namespace"] = u.GetNamespace()
	}
	for _, f := range s.fields {
		set[f.name] = ""
		found, err := f.path.FindResults(u.Object)
		if err == nil && len(found) > 0 && len(found[0]) > 0 {
			set[f.name] = fmt.Sprint(found[0][0].Interface())
		}
	}
	return u.GetLabels(), set, nil
}
