package kudo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"

	"holdfast.dev/holdfast/api"
)

// leftovers are the cluster-scoped objects of an Instance, which stay when it is deleted. They
// are read and deleted with the rights of the user.
type leftovers struct {
	client dynamic.Interface
	kinds  meta.RESTMapper
	// instance is the name of the Instance, and owner its UID: empty if the Instance was gone
	// before the command began.
	instance string
	owner    types.UID
	// ofInstance reports whether an object is of the Instance.
	ofInstance func(object *unstructured.Unstructured) bool
	// limit returns a context that ends with the timeout of the command.
	limit func(context.Context) (context.Context, context.CancelFunc)
	// references are the objects that plans of the Instance applied, and objects those of
	// them that exist.
	references []api.AppliedObject
	objects    []*unstructured.Unstructured
}

// leftovers reads the cluster-scoped objects of an Instance.
func (u *uninstall) leftovers(ctx context.Context, instance *api.Instance) (*leftovers, error) {
	l := &leftovers{
		instance: instance.Name, owner: instance.UID, limit: u.Limit,
		ofInstance: func(object *unstructured.Unstructured) bool { return slices.Contains(api.Owners(object), instance.UID) },
	}
	for _, reference := range instance.Status.Objects {
		if reference.Namespace == "" {
			l.references = append(l.references, reference)
		}
	}
	if len(l.references) == 0 {
		return l, nil
	}
	if _, err := l.connect(&u.connection); err != nil {
		return nil, err
	}
	return l, l.refresh(ctx)
}

// connect creates the clients, and returns the one for discovery.
func (l *leftovers) connect(to *connection) (discovery.DiscoveryInterface, error) {
	config, err := to.config()
	if err != nil {
		return nil, err
	}
	documents, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	l.kinds = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(documents))
	l.client, err = dynamic.NewForConfig(config)
	return documents, err
}

// refresh reads the objects again. An object that the user may not read counts as existing.
func (l *leftovers) refresh(ctx context.Context) error {
	l.objects = nil
	for _, reference := range l.references {
		object := &unstructured.Unstructured{}
		object.SetAPIVersion(reference.APIVersion)
		object.SetKind(reference.Kind)
		object.SetName(reference.Name)
		resource, err := l.resource(object.GroupVersionKind())
		if meta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return err
		}
		found, err := resource.Get(ctx, reference.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			continue
		case apierrors.IsForbidden(err):
			found = object
		case err != nil:
			return fmt.Errorf("read %s: %w", title(object), err)
		case !l.ofInstance(found):
			continue
		}
		l.objects = append(l.objects, found)
	}
	return nil
}

func (l *leftovers) resource(kind schema.GroupVersionKind) (dynamic.NamespaceableResourceInterface, error) {
	mapping, err := l.kinds.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, err
	}
	return l.client.Resource(mapping.Resource), nil
}

// print names the objects that stay.
func (l *leftovers) print(out io.Writer) error {
	for _, object := range l.objects {
		if _, err := fmt.Fprintf(out, "%s stays\n", title(object)); err != nil {
			return err
		}
	}
	return nil
}

// delete deletes the objects, and prints for each whether it is deleted or why it stays.
func (l *leftovers) delete(ctx context.Context, out io.Writer) error {
	var failed []error
	// Definitions come last, after their objects.
	slices.SortStableFunc(l.objects, func(a, b *unstructured.Unstructured) int {
		switch {
		case isDefinition(a) == isDefinition(b):
			return 0
		case isDefinition(a):
			return 1
		}
		return -1
	})
	for _, object := range l.objects {
		reason, err := l.deleteOne(ctx, object)
		if err != nil {
			failed = append(failed, fmt.Errorf("delete %s: %w", title(object), err))
			continue
		}
		state := "is deleted"
		if reason != "" {
			state = "stays: " + reason
		}
		if _, err := fmt.Fprintf(out, "%s %s\n", title(object), state); err != nil {
			return err
		}
	}
	return errors.Join(failed...)
}

// deleteOne deletes an object, or returns the reason why it stays. An object that the user may
// not read stays: it may belong to another Instance, and a definition may have objects.
func (l *leftovers) deleteOne(ctx context.Context, object *unstructured.Unstructured) (reason string, err error) {
	uid, version := object.GetUID(), object.GetResourceVersion()
	if uid == "" {
		return "you are not allowed to read it", nil
	}
	if l.owner == "" && len(api.OwnerNames(object)) == 0 {
		return "an earlier release created it, and it may be of an instance of this name in another namespace", nil
	}
	shared, err := l.shared(ctx, object)
	if err != nil || shared {
		return "another instance uses it", err
	}
	if isDefinition(object) {
		if has, err := l.keepsObjects(ctx, object); err != nil || has {
			return "it has objects", err
		}
	}
	resource, err := l.resource(object.GroupVersionKind())
	if err != nil {
		return "", err
	}
	err = resource.Delete(ctx, object.GetName(), metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version},
	})
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	return "", err
}

// shared reports whether another Instance that exists uses an object.
func (l *leftovers) shared(ctx context.Context, object *unstructured.Unstructured) (bool, error) {
	others := slices.DeleteFunc(api.Owners(object), func(uid types.UID) bool { return uid == l.owner })
	if len(others) == 0 {
		return false, nil
	}
	list, err := l.client.Resource(api.GroupVersion.WithResource(instances)).List(ctx, metav1.ListOptions{})
	if err != nil {
		return true, fmt.Errorf("find the instances that use it: %w", err)
	}
	return slices.ContainsFunc(list.Items, func(one unstructured.Unstructured) bool {
		return slices.Contains(others, one.GetUID())
	}), nil
}

// isDefinition reports whether an object is a CustomResourceDefinition.
func isDefinition(object *unstructured.Unstructured) bool {
	return object.GroupVersionKind().GroupKind() == apiextensionsv1.Kind("CustomResourceDefinition")
}
