package kudo

import (
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"holdfast.dev/holdfast/api"
)

const (
	// collectionPoll is the time between two looks at objects that the garbage collector deletes.
	collectionPoll = 100 * time.Millisecond
	// objectsPage is the number of objects of a definition that one request lists.
	objectsPage = 500
)

// keepsObjects reports whether a CustomResourceDefinition has objects that outlive the Instances
// that use it, which are all gone. It waits until the garbage collector has deleted the objects of
// these Instances. Objects that still exist when the timeout ends, for example because of a
// finalizer, count.
func (l *leftovers) keepsObjects(ctx context.Context, definition *unstructured.Unstructured) (bool, error) {
	resource, found := l.defined(definition)
	if !found {
		return false, nil
	}
	limited, cancel := l.limit(ctx)
	defer cancel()
	var left remains
	err := wait.PollUntilContextCancel(limited, collectionPoll, true, func(context.Context) (bool, error) {
		// The last look must not fail because the timeout ends: it has the result.
		var err error
		left, err = l.remains(ctx, resource, api.Owners(definition))
		return left != collected, err
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return true, nil
	}
	return left == kept, err
}

// remains tells which objects of a definition exist.
type remains int

const (
	// none means that there are no objects.
	none remains = iota
	// collected means that the garbage collector deletes all of them.
	collected
	// kept means that some of them stay.
	kept
)

// remains lists the objects of a definition. The garbage collector deletes the objects that belong
// to owners alone.
func (l *leftovers) remains(ctx context.Context, resource schema.GroupVersionResource, owners []types.UID) (remains, error) {
	left := none
	for page := ""; ; {
		list, err := l.client.Resource(resource).List(ctx, metav1.ListOptions{Limit: objectsPage, Continue: page})
		if apierrors.IsNotFound(err) {
			return none, nil
		}
		if err != nil {
			return kept, err
		}
		for i := range list.Items {
			references := list.Items[i].GetOwnerReferences()
			if len(references) == 0 || slices.ContainsFunc(references, func(one metav1.OwnerReference) bool {
				return !slices.Contains(owners, one.UID)
			}) {
				return kept, nil
			}
			left = collected
		}
		if page = list.GetContinue(); page == "" {
			return left, nil
		}
	}
}

// defined returns the resource of a CustomResourceDefinition in a version that is served; false if
// there is none.
func (l *leftovers) defined(definition *unstructured.Unstructured) (schema.GroupVersionResource, bool) {
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	plural, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "plural")
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, version := range versions {
		content, _ := version.(map[string]any)
		if served, _ := content["served"].(bool); served {
			name, _ := content["name"].(string)
			return schema.GroupVersionResource{Group: group, Version: name, Resource: plural}, true
		}
	}
	return schema.GroupVersionResource{}, false
}
