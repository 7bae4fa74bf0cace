package controller

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/operator/authorship"
	"holdfast.dev/holdfast/internal/operator/render"
)

// hashDependencies sets api.DependenciesHashAnnotation in the pod templates of the objects of a
// task. The hash changes with the ConfigMaps and Secrets that the pods use, and its change
// restarts the pods. As in KUDO, the content of a ConfigMap or Secret comes from the task itself,
// or from the server if the task does not apply the object.
func (e *execution) hashDependencies(ctx context.Context, objects []target) error {
	for _, object := range objects {
		uses, err := render.Uses(object.Unstructured)
		if err != nil {
			return fatalError{err}
		}
		if len(uses) == 0 {
			continue
		}
		var all strings.Builder
		for _, use := range uses {
			content, err := e.usedContent(ctx, use, objects)
			if err != nil {
				return err
			}
			fmt.Fprintf(&all, "%s/%s %d\n%s\n", use.Kind, use.Name, len(content), content)
		}
		// A hash without a key would let readers of the workload guess short Secrets.
		about := authorship.Subject{Purpose: "dependencies", About: e.instance.UID}
		hash, err := e.keys.Hash(ctx, about, all.String())
		if err != nil {
			return err
		}
		render.SetDependenciesHash(object.Unstructured, hash)
	}
	return nil
}

// usedContent returns the content of a ConfigMap or Secret, empty if there is none, if the
// requester may not get it, or if its annotation excludes it.
func (e *execution) usedContent(ctx context.Context, use render.Use, objects []target) ([]byte, error) {
	wanted := objectOf(api.AppliedObject{APIVersion: "v1", Kind: use.Kind, Namespace: e.instance.Namespace, Name: use.Name})
	var found *unstructured.Unstructured
	for _, object := range objects {
		if identity(object.Unstructured) == identity(wanted) {
			found = object.Unstructured
		}
	}
	if found == nil {
		var err error
		if found, err = e.user.get(ctx, wanted); denied(err) {
			return nil, nil
		} else if err != nil {
			return nil, err
		}
	}
	if found == nil {
		return nil, nil
	}
	if _, skipped := found.GetAnnotations()[api.SkipHashAnnotation]; skipped {
		return nil, nil
	}
	return render.Content(found)
}
