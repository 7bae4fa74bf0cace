package token

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
)

// Objects reads service accounts and the objects that tokens are bound to. It reads
// service accounts and pods from listers, and from the server if the lister does
// not have them yet. It always reads Secrets and Nodes from the server.
type Objects struct {
	ServiceAccounts corelisters.ServiceAccountLister
	Pods            corelisters.PodLister
	Client          coreclient.CoreV1Interface
}

// get returns the cached object if it has the UID, and otherwise the live one.
func get[T metav1.Object](uid types.UID, cached, live func() (T, error)) (T, error) {
	if obj, err := cached(); err == nil && obj.GetUID() == uid {
		return obj, nil
	}
	return live()
}

func (o Objects) serviceAccount(ctx context.Context, namespace string, ref Ref) (*corev1.ServiceAccount, error) {
	return get(ref.UID,
		func() (*corev1.ServiceAccount, error) {
			return o.ServiceAccounts.ServiceAccounts(namespace).Get(ref.Name)
		},
		func() (*corev1.ServiceAccount, error) {
			return o.Client.ServiceAccounts(namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		})
}

func (o Objects) pod(ctx context.Context, namespace string, ref Ref) (*corev1.Pod, error) {
	return get(ref.UID,
		func() (*corev1.Pod, error) { return o.Pods.Pods(namespace).Get(ref.Name) },
		func() (*corev1.Pod, error) { return o.Client.Pods(namespace).Get(ctx, ref.Name, metav1.GetOptions{}) })
}

func (o Objects) secret(ctx context.Context, namespace string, ref Ref) (*corev1.Secret, error) {
	return o.Client.Secrets(namespace).Get(ctx, ref.Name, metav1.GetOptions{})
}

func (o Objects) node(ctx context.Context, ref Ref) (*corev1.Node, error) {
	return o.Client.Nodes().Get(ctx, ref.Name, metav1.GetOptions{})
}
