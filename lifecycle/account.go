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

	"holdfast.dev/holdfast/connection"
)

// defaultAccount is the ServiceAccount of pods that name none.
const defaultAccount = "default"

// accounts keeps a default ServiceAccount in every active namespace.
type accounts struct {
	typed kubernetes.Interface
	standing
}

func newAccounts(c *connection.Connection) *accounts {
	return &accounts{typed: c.Typed, standing: standing{object: defaultAccount}}
}

func (*accounts) name() string { return "service accounts" }

func (a *accounts) watch(factory informers.SharedInformerFactory, enqueue func(cache.ObjectName)) error {
	a.objects = factory.InformerFor(&corev1.ServiceAccount{}, func(client kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
		return coreinformers.NewFilteredServiceAccountInformer(client, metav1.NamespaceAll, resync, cache.Indexers{}, named(defaultAccount))
	})
	if err := a.objects.SetTransform(shrinkAccount); err != nil {
		return err
	}
	return a.standing.watch(factory, enqueue)
}

// shrinkAccount keeps that an account is there.
func shrinkAccount(obj any) (any, error) {
	account, ok := obj.(*corev1.ServiceAccount)
	if !ok {
		return obj, nil
	}
	return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
		Namespace: account.Namespace, Name: account.Name, UID: account.UID, ResourceVersion: account.ResourceVersion,
	}}, nil
}

// reconcile creates the ServiceAccount if it is missing. What somebody adds to
// it, pull secrets for one, is theirs.
func (a *accounts) reconcile(ctx context.Context, namespace cache.ObjectName) (time.Duration, error) {
	account, wanted, err := a.in(namespace.Name)
	if err != nil || !wanted || account != nil {
		return 0, err
	}
	_, err = a.typed.CoreV1().ServiceAccounts(namespace.Name).Create(ctx, &corev1.ServiceAccount{
		ObjectMeta: metav1.ObjectMeta{Name: defaultAccount},
	}, metav1.CreateOptions{})
	return 0, ignoreEnd("create service account", err)
}
