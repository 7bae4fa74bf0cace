package lifecycle

import (
	"context"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/internal/connection"
)

// rootCAName is the ConfigMap that the token volume of every pod includes.
const rootCAName = "kube-root-ca.crt"

// rootCAs is the controller that keeps a ConfigMap with the server's CA certificate in
// every active namespace.
type rootCAs struct {
	typed kubernetes.Interface
	data  map[string]string
	perNamespace
}

func newRootCAs(c *connection.Connection, ca []byte) *rootCAs {
	return &rootCAs{
		typed:        c.Typed,
		data:         map[string]string{corev1.ServiceAccountRootCAKey: string(ca)},
		perNamespace: perNamespace{object: rootCAName},
	}
}

func (*rootCAs) name() string { return "root CAs" }

func (r *rootCAs) watch(factory informers.SharedInformerFactory, enqueue func(cache.ObjectName)) error {
	newInformer := func(client kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
		return coreinformers.NewFilteredConfigMapInformer(
			client, metav1.NamespaceAll, resync, cache.Indexers{}, withName(rootCAName))
	}
	r.objects = factory.InformerFor(&corev1.ConfigMap{}, newInformer)
	return r.perNamespace.watch(factory, enqueue)
}

// reconcile creates the ConfigMap or corrects its data. A ConfigMap with wrong data that
// is immutable is deleted and created again.
func (r *rootCAs) reconcile(ctx context.Context, namespace cache.ObjectName) (time.Duration, error) {
	obj, active, err := r.get(namespace.Name)
	if err != nil || !active {
		return 0, err
	}
	configMaps := r.typed.CoreV1().ConfigMaps(namespace.Name)
	found, ok := obj.(*corev1.ConfigMap)
	if !ok {
		_, err := configMaps.Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{
				Name: rootCAName,
				Annotations: map[string]string{
					"kubernetes.io/description": "Contains a CA bundle that can be used to verify the API server of this cluster.",
				},
			},
			Data: r.data,
		}, metav1.CreateOptions{})
		return 0, created("create root CA", err)
	}
	// A ConfigMap that is being deleted is created again after it is gone.
	if found.DeletionTimestamp != nil || maps.Equal(found.Data, r.data) && len(found.BinaryData) == 0 {
		return 0, nil
	}
	if found.Immutable != nil && *found.Immutable {
		err := configMaps.Delete(ctx, found.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(found.UID))})
		if apierrors.IsConflict(err) {
			return 0, nil
		}
		return 0, ignoreNotFound("replace root CA", err)
	}
	corrected := found.DeepCopy()
	corrected.Data, corrected.BinaryData = r.data, nil
	_, err = configMaps.Update(ctx, corrected, metav1.UpdateOptions{})
	return 0, ignoreExpected("update root CA", err)
}
