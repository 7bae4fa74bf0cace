package lifecycle

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/internal/connection"
)

// defaultAccount is the ServiceAccount of pods that do not specify one.
const defaultAccount = "default"

// accounts is the controller that creates the default ServiceAccount in every active
// namespace.
type accounts struct {
	typed kubernetes.Interface
	perNamespace
}

func newAccounts(c *connection.Connection) *accounts {
	return &accounts{typed: c.Typed, perNamespace: perNamespace{object: defaultAccount}}
}

func (*accounts) name() string { return "service accounts" }

func (a *accounts) watch(factory informers.SharedInformerFactory, enqueue func(cache.ObjectName)) error {
	newInformer := func(client kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
		return coreinformers.NewFilteredServiceAccountInformer(
			client, metav1.NamespaceAll, resync, cache.Indexers{}, withName(defaultAccount))
	}
	a.objects = factory.InformerFor(&corev1.ServiceAccount{}, newInformer)
	if err := a.objects.SetTransform(shrinkAccount); err != nil {
		return err
	}
	return a.perNamespace.watch(factory, enqueue)
}

// shrinkAccount removes everything from an account but its identity, to save memory. The
// controller only needs to know that the account exists.
func shrinkAccount(obj any) (any, error) {
	account, ok := obj.(*corev1.ServiceAccount)
	if !ok {
		return obj, nil
	}
	return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
		Namespace: account.Namespace, Name: account.Name, UID: account.UID, ResourceVersion: account.ResourceVersion,
	}}, nil
}

// reconcile creates the ServiceAccount if it is missing. It does not change an existing
// one, because users add image pull secrets to it, for example.
func (a *accounts) reconcile(ctx context.Context, namespace cache.ObjectName) (time.Duration, error) {
	account, active, err := a.get(namespace.Name)
	if err != nil || !active || account != nil {
		return 0, err
	}
	_, err = a.typed.CoreV1().ServiceAccounts(namespace.Name).Create(ctx, &corev1.ServiceAccount{
		ObjectMeta: metav1.ObjectMeta{Name: defaultAccount},
	}, metav1.CreateOptions{})
	return 0, created("create service account", err)
}
