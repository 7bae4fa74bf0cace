package apiserver

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/watch"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"holdfast.dev/holdfast/access/node"
	used "holdfast.dev/holdfast/apiserver/selection"
	"holdfast.dev/holdfast/native"
)

// newUsed selects, by node, from the kinds whose objects pods name.
func newUsed(index *node.Index) (*used.Selection, map[schema.GroupResource]observer) {
	selected := used.New(index,
		used.Kind{
			Resource: "configmaps",
			New:      func() used.Object { return &corev1.ConfigMap{} },
			Fixed:    func(obj used.Object) bool { return isSet(obj.(*corev1.ConfigMap).Immutable) },
		},
		used.Kind{
			Resource: "secrets",
			New:      func() used.Object { return &corev1.Secret{} },
			Fixed:    func(obj used.Object) bool { return isSet(obj.(*corev1.Secret).Immutable) },
		},
	)
	return selected, map[schema.GroupResource]observer{
		corev1.Resource("pods"):       selected.Pods(),
		corev1.Resource("configmaps"): selected.Objects("configmaps"),
		corev1.Resource("secrets"):    selected.Objects("secrets"),
	}
}

func isSet(value *bool) bool { return value != nil && *value }

// addUsedSelectors lets a field selector name the node.
func addUsedSelectors(scheme *runtime.Scheme) error {
	for _, kind := range native.Kinds() {
		switch kind.GroupResource() {
		case corev1.Resource("configmaps"), corev1.Resource("secrets"):
		default:
			continue
		}
		err := scheme.AddFieldLabelConversionFunc(kind.GroupVersionKind(), func(label, value string) (string, string, error) {
			if label == node.UsedByNode {
				return label, value, nil
			}
			return kind.FieldLabel(label, value)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// usedREST is a registry whose objects can also be selected by the node that
// uses them.
type usedREST struct {
	*kindREST
	used *used.Selection
}

var _ rest.StandardStorage = &usedREST{}

// List implements rest.Lister.
func (r *usedREST) List(ctx context.Context, options *internalversion.ListOptions) (runtime.Object, error) {
	request, selected, err := r.request(ctx, options)
	if err != nil {
		return nil, err
	}
	if !selected {
		return r.kindREST.List(ctx, options)
	}
	if options.Continue != "" || options.ResourceVersionMatch == metav1.ResourceVersionMatchExact {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("a list by %s is whole and as it is now: continue and resourceVersionMatch=Exact are not supported", node.UsedByNode))
	}
	objects, version, err := r.used.List(ctx, r.kind.Resource, request)
	if err != nil {
		return nil, err
	}
	items := make([]runtime.Object, len(objects))
	for i, obj := range objects {
		items[i] = obj
	}
	list := r.NewList()
	if err := meta.SetList(list, items); err != nil {
		return nil, err
	}
	return list, r.Storage.Versioner().UpdateList(list, version, "", nil)
}

// Watch implements rest.Watcher.
func (r *usedREST) Watch(ctx context.Context, options *internalversion.ListOptions) (watch.Interface, error) {
	request, selected, err := r.request(ctx, options)
	if err != nil {
		return nil, err
	}
	if !selected {
		return r.kindREST.Watch(ctx, options)
	}
	request.Bookmarks = options.AllowWatchBookmarks
	if options.SendInitialEvents != nil {
		request.Initial = *options.SendInitialEvents
		request.EndOfInitial = request.Initial && request.Bookmarks
	} else {
		request.Initial = options.ResourceVersion == "" || options.ResourceVersion == "0"
	}
	return r.used.Watch(ctx, r.kind.Resource, request), nil
}

// DeleteCollection implements rest.CollectionDeleter. What a node uses changes
// while it is deleted, so that is no selection to delete by.
func (r *usedREST) DeleteCollection(ctx context.Context, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions, list *internalversion.ListOptions) (runtime.Object, error) {
	if list != nil && byNode(list.FieldSelector) {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the field selector %s is for lists and watches", node.UsedByNode))
	}
	return r.kindREST.DeleteCollection(ctx, validate, options, list)
}

// request is what is asked for of a node's objects; false, if the request is
// not about those.
func (r *usedREST) request(ctx context.Context, options *internalversion.ListOptions) (used.Request, bool, error) {
	if options == nil || !byNode(options.FieldSelector) {
		return used.Request{}, false, nil
	}
	request := used.Request{Namespace: genericapirequest.NamespaceValue(ctx)}
	requirements := options.FieldSelector.Requirements()
	switch first := requirements[0]; {
	case len(requirements) > 1 || (options.LabelSelector != nil && !options.LabelSelector.Empty()):
		return request, false, apierrors.NewBadRequest(fmt.Sprintf("the field selector %s cannot be combined with other selectors", node.UsedByNode))
	case first.Value == "" || (first.Operator != selection.Equals && first.Operator != selection.DoubleEquals):
		return request, false, apierrors.NewBadRequest(fmt.Sprintf("the field selector %s must equal the name of a node", node.UsedByNode))
	default:
		request.Node = first.Value
	}
	// Without a version, what is stored now must be in the answer.
	var err error
	if options.ResourceVersion == "" {
		request.Version, err = r.Storage.Storage.GetCurrentResourceVersion(ctx)
	} else {
		request.Version, err = r.Storage.Versioner().ParseResourceVersion(options.ResourceVersion)
	}
	return request, err == nil, err
}

func byNode(selector fields.Selector) bool {
	if selector == nil {
		return false
	}
	for _, requirement := range selector.Requirements() {
		if requirement.Field == node.UsedByNode {
			return true
		}
	}
	return false
}
