package instance

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/connection"
	"holdfast.dev/holdfast/internal/operator/authorship"
)

const (
	// pageSize is the limit of one list request.
	pageSize = 500
	// maxNamed is how many Instances a refusal names.
	maxNamed = 5
)

// Instances returns the names of the Instances that use an OperatorVersion.
type Instances func(ctx context.Context, version types.NamespacedName) ([]types.NamespacedName, error)

// LiveInstances returns an Instances that reads from the server with every call, without a cache.
//
// Two kinds of Instances do not count, because deletions would wait for each other:
//
//   - An Instance that is being deleted and has no cleanup to run. The garbage collector may
//     have to delete the OperatorVersion before it.
//   - An Instance in another namespace, if the namespace of the OperatorVersion is being
//     deleted. No OperatorVersion can be created there any more.
func LiveInstances(client dynamic.Interface, namespaces corev1client.NamespaceInterface) Instances {
	resource := client.Resource(api.GroupVersion.WithResource("instances"))
	return func(ctx context.Context, version types.NamespacedName) ([]types.NamespacedName, error) {
		var found []types.NamespacedName
		options := metav1.ListOptions{Limit: pageSize}
		for {
			page, err := resource.List(ctx, options)
			if err != nil {
				return nil, fmt.Errorf("list instances: %w", err)
			}
			for i := range page.Items {
				if uses(&page.Items[i], version) {
					found = append(found, types.NamespacedName{Namespace: page.Items[i].GetNamespace(), Name: page.Items[i].GetName()})
				}
			}
			if options.Continue = page.GetContinue(); options.Continue == "" {
				return withoutForeign(ctx, namespaces, version.Namespace, found)
			}
		}
	}
}

// uses reports whether an Instance has plans of an OperatorVersion to run.
func uses(obj *unstructured.Unstructured, version types.NamespacedName) bool {
	if obj.GetDeletionTimestamp() != nil && !slices.Contains(obj.GetFinalizers(), api.CleanupFinalizer) {
		return false
	}
	// The fields are read one by one: an Instance that another server stored may have
	// content of other types.
	name, _, _ := unstructured.NestedString(obj.Object, "spec", "operatorVersion", "name")
	namespace, _, _ := unstructured.NestedString(obj.Object, "spec", "operatorVersion", "namespace")
	if namespace == "" {
		namespace = obj.GetNamespace()
	}
	return name == version.Name && namespace == version.Namespace
}

// withoutForeign drops the Instances of other namespaces if the namespace is being deleted.
func withoutForeign(
	ctx context.Context, namespaces corev1client.NamespaceInterface, namespace string, found []types.NamespacedName,
) ([]types.NamespacedName, error) {
	foreign := func(instance types.NamespacedName) bool { return instance.Namespace != namespace }
	if !slices.ContainsFunc(found, foreign) {
		return found, nil
	}
	stored, err := namespaces.Get(ctx, namespace, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && stored.DeletionTimestamp != nil {
		return slices.DeleteFunc(found, foreign), nil
	}
	return found, err
}

// refuseDeletion refuses to delete an OperatorVersion that Instances use. Their plans,
// cleanup included, could not run without it, and another one of the same name could take
// its place.
func (j Judge) refuseDeletion(ctx context.Context, oldObj *unstructured.Unstructured, deleter authorship.User) error {
	version := types.NamespacedName{Namespace: oldObj.GetNamespace(), Name: oldObj.GetName()}
	instances, err := j.Instances(ctx, version)
	if err != nil {
		return connection.TryAgain(err, versions, "delete")
	}
	if len(instances) == 0 {
		return nil
	}
	return apierrors.NewConflict(versions, version.Name, fmt.Errorf(
		"instances use it: %s. Uninstall them or upgrade them to another version first", j.listed(ctx, instances, deleter)))
}

// listed returns the names of Instances that a user may get, and the number of the others.
func (j Judge) listed(ctx context.Context, instances []types.NamespacedName, reader authorship.User) string {
	var names []string
	for i, instance := range instances {
		if i == maxNamed {
			break
		}
		if j.MayRead(ctx, reader, instance) {
			names = append(names, instance.String())
		}
	}
	if others := len(instances) - len(names); others > 0 && len(names) == 0 {
		return fmt.Sprintf("%d in total", others)
	} else if others > 0 {
		names = append(names, fmt.Sprintf("%d more", others))
	}
	return strings.Join(names, ", ")
}
