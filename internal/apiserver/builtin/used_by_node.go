package builtin

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
	operator "k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/watch"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/util/flowcontrol"

	"holdfast.dev/holdfast/internal/access/node"
	"holdfast.dev/holdfast/internal/apiserver/selection"
	"holdfast.dev/holdfast/internal/apiserver/storage"
	"holdfast.dev/holdfast/internal/native"
)

// NewSelection returns the selection of the ConfigMaps and Secrets that the pods of each
// node use. It also returns the observers that report changes of pods, ConfigMaps and
// Secrets to the selection.
func NewSelection(index *node.Index) (*selection.Selection, map[schema.GroupResource]storage.Observer) {
	selected := selection.New(index,
		selection.Kind{
			Resource: "configmaps",
			New:      func() selection.Object { return &corev1.ConfigMap{} },
			Fixed:    func(obj selection.Object) bool { return isSet(obj.(*corev1.ConfigMap).Immutable) },
		},
		selection.Kind{
			Resource: "secrets",
			New:      func() selection.Object { return &corev1.Secret{} },
			Fixed:    func(obj selection.Object) bool { return isSet(obj.(*corev1.Secret).Immutable) },
		},
	)
	return selected, map[schema.GroupResource]storage.Observer{
		corev1.Resource("pods"):       selected.Pods(),
		corev1.Resource("configmaps"): selected.Objects("configmaps"),
		corev1.Resource("secrets"):    selected.Objects("secrets"),
	}
}

func isSet(value *bool) bool { return value != nil && *value }

// AddFieldSelectors makes a scheme accept field selectors that name the node which
// uses an object.
func AddFieldSelectors(scheme *runtime.Scheme) error {
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

// usedByNodeREST is a registry of objects that clients can also select by the node that
// uses them.
type usedByNodeREST struct {
	*kindREST
	selection *selection.Selection
}

var _ rest.StandardStorage = &usedByNodeREST{}

// List implements rest.Lister.
func (r *usedByNodeREST) List(ctx context.Context, options *internalversion.ListOptions) (runtime.Object, error) {
	request, selected, err := r.request(ctx, options)
	if err != nil {
		return nil, err
	}
	if !selected {
		return r.kindREST.List(ctx, options)
	}
	if options.Continue != "" || options.ResourceVersionMatch == metav1.ResourceVersionMatchExact {
		return nil, apierrors.NewBadRequest(fmt.Sprintf(
			"a list by %s returns all objects in their current state: continue and resourceVersionMatch=Exact are not supported", node.UsedByNode))
	}
	objects, version, err := r.selection.List(ctx, r.kind.Resource, request)
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
func (r *usedByNodeREST) Watch(ctx context.Context, options *internalversion.ListOptions) (watch.Interface, error) {
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
	watched := r.selection.Watch(ctx, r.kind.Resource, request)
	// A watch occupies a seat of its priority level until this signal. The watch cache sends it for
	// all other watches. Without it, the open watches of nodes would use up all seats.
	flowcontrol.WatchInitialized(ctx)
	return watched, nil
}

// DeleteCollection implements rest.CollectionDeleter. It refuses the selector: the
// objects that a node uses may change during the deletion.
func (r *usedByNodeREST) DeleteCollection(
	ctx context.Context, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions, list *internalversion.ListOptions,
) (runtime.Object, error) {
	if list != nil && byNode(list.FieldSelector) {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the field selector %s is for lists and watches", node.UsedByNode))
	}
	return r.kindREST.DeleteCollection(ctx, validate, options, list)
}

// request translates list options that select by node. It returns false for options
// that do not.
func (r *usedByNodeREST) request(
	ctx context.Context, options *internalversion.ListOptions,
) (selection.Request, bool, error) {
	if options == nil || !byNode(options.FieldSelector) {
		return selection.Request{}, false, nil
	}
	request := selection.Request{Namespace: genericapirequest.NamespaceValue(ctx)}
	requirements := options.FieldSelector.Requirements()
	switch first := requirements[0]; {
	case len(requirements) > 1 || (options.LabelSelector != nil && !options.LabelSelector.Empty()):
		return request, false, apierrors.NewBadRequest(
			fmt.Sprintf("the field selector %s cannot be combined with other selectors", node.UsedByNode))
	case first.Value == "" || (first.Operator != operator.Equals && first.Operator != operator.DoubleEquals):
		return request, false, apierrors.NewBadRequest(
			fmt.Sprintf("the field selector %s must equal the name of a node", node.UsedByNode))
	default:
		request.Node = first.Value
	}
	// Without a resourceVersion, the answer must include everything that is stored now.
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
