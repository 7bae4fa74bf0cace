package controller

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/operator/authorship"
)

// isInstance reports whether an object is an Instance.
func isInstance(object *unstructured.Unstructured) bool {
	return object.GroupVersionKind().GroupKind() == api.GroupVersion.WithKind("Instance").GroupKind()
}

// withAuthors returns the content of an object to apply. To an Instance it adds the authors of
// the values that take part in it, sealed. Admission records them as the authors of its values.
func (e *execution) withAuthors(ctx context.Context, object target) (*unstructured.Unstructured, error) {
	if !isInstance(object.Unstructured) {
		return object.Unstructured, nil
	}
	child, err := typed(object.Unstructured)
	if err != nil {
		return nil, fatalError{err}
	}
	authors := authorship.Authors{authorship.Whole: e.usersOf(object.origin)}
	for name := range child.Spec.Parameters {
		authors[name] = e.usersOf(object.parameters)
	}
	if err := e.keys.SetInherited(ctx, child, authorship.Inherited{Writer: e.user.identity.Username, Authors: authors}); err != nil {
		return nil, err
	}
	content := object.DeepCopy()
	content.SetAnnotations(child.Annotations)
	return content, nil
}

// usersOf returns the authors of some parameters and of the whole Instance, the requester
// included.
func (e *execution) usersOf(parameters []string) []authorship.User {
	var all []authorship.User
	known := map[string]bool{}
	for _, name := range append([]string{authorship.Whole}, parameters...) {
		for _, user := range e.users.Authors[name] {
			if key := userKey(user); !known[key] {
				known[key] = true
				all = append(all, user)
			}
		}
	}
	return all
}
