package controller

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/api"
)

var (
	instances = api.GroupVersion.WithResource("instances")
	versions  = api.GroupVersion.WithResource("operatorversions")
)

// instance reads an Instance from the server, nil if there is none. It does not use the
// cache of the informer, which may be older than the controller's own last write.
func (c *controller) instance(ctx context.Context, name cache.ObjectName) (*api.Instance, error) {
	found, err := c.server.Dynamic.Resource(instances).Namespace(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return typed(found)
}

// exists returns a function that reports whether an Instance exists, for package deletion.
func (c *controller) exists(ctx context.Context) func(namespace, name string, uid types.UID) (bool, error) {
	return func(namespace, name string, uid types.UID) (bool, error) {
		found, err := c.instance(ctx, cache.ObjectName{Namespace: namespace, Name: name})
		return found != nil && found.UID == uid, err
	}
}

// typed converts an object to an Instance.
func typed(found *unstructured.Unstructured) (*api.Instance, error) {
	instance := &api.Instance{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, instance); err != nil {
		return nil, fmt.Errorf("instance %s/%s: %w", found.GetNamespace(), found.GetName(), err)
	}
	return instance, nil
}

// write updates an Instance, or a subresource of it, and returns the stored Instance.
func (c *controller) write(ctx context.Context, instance *api.Instance, subresources ...string) (*api.Instance, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(instance)
	if err != nil {
		return nil, err
	}
	stored, err := c.server.Dynamic.Resource(instances).Namespace(instance.Namespace).
		Update(ctx, &unstructured.Unstructured{Object: content}, metav1.UpdateOptions{FieldManager: manager}, subresources...)
	if err != nil {
		return nil, err
	}
	return typed(stored)
}

// version reads the OperatorVersion with a key that an Instance in a namespace has, nil if
// there is none: see api.Instance.VersionKey.
func (c *controller) version(ctx context.Context, instanceNamespace, key string) (*api.OperatorVersion, error) {
	namespace, name := api.SplitVersionKey(key, instanceNamespace)
	found, err := c.server.Dynamic.Resource(versions).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	version := &api.OperatorVersion{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, version); err != nil {
		return nil, fmt.Errorf("operator version %s/%s: %w", namespace, name, err)
	}
	return version, nil
}

// newest returns the name of the highest OperatorVersion that matches a task.
func (c *controller) newest(ctx context.Context, namespace string, wanted api.TaskSpec) (string, error) {
	list, err := c.server.Dynamic.Resource(versions).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	all := make([]api.OperatorVersion, len(list.Items))
	for i := range list.Items {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, &all[i]); err != nil {
			return "", fmt.Errorf("operator version %s/%s: %w", namespace, list.Items[i].GetName(), err)
		}
	}
	newest := api.Newest(all, wanted)
	if newest == nil {
		return "", fmt.Errorf("there is no version of operator %s in namespace %s", wanted.Package, namespace)
	}
	return newest.Name, nil
}
