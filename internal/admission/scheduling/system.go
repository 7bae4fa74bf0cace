package scheduling

import (
	"context"
	"errors"
	"fmt"
	"slices"

	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	schedulingclient "k8s.io/client-go/kubernetes/typed/scheduling/v1"
)

// systemPriority is the lowest priority that only classes of Kubernetes may have.
const systemPriority = 2_000_000_000

// systemClasses returns the PriorityClasses that every cluster has.
func systemClasses() []*schedulingv1.PriorityClass {
	return []*schedulingv1.PriorityClass{
		{
			ObjectMeta:  metav1.ObjectMeta{Name: "system-node-critical"},
			Value:       systemPriority + 1000,
			Description: "Used for system critical pods that must not be moved from their current node.",
		},
		{
			ObjectMeta: metav1.ObjectMeta{Name: "system-cluster-critical"},
			Value:      systemPriority,
			Description: "Used for system critical pods that must run in the cluster, but can be moved to another node " +
				"if necessary.",
		},
	}
}

// CreateSystemClasses creates the missing ones of the PriorityClasses that every cluster has. Two
// servers on one etcd may call it at the same time.
func CreateSystemClasses(ctx context.Context, client schedulingclient.PriorityClassesGetter) error {
	var failed []error
	for _, class := range systemClasses() {
		_, err := client.PriorityClasses().Get(ctx, class.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			_, err = client.PriorityClasses().Create(ctx, class, metav1.CreateOptions{})
		}
		if err != nil && !apierrors.IsAlreadyExists(err) {
			failed = append(failed, fmt.Errorf("create priority class %s: %w", class.Name, err))
		}
	}
	return errors.Join(failed...)
}

// IsSystemClass reports whether a PriorityClass is one of those that every cluster has.
func IsSystemClass(name string) bool {
	return slices.ContainsFunc(systemClasses(), func(class *schedulingv1.PriorityClass) bool { return class.Name == name })
}
