package serviceip

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/storage"
)

// hanging is a storage that answers every create as the storage does when etcd does not confirm the write in time.
type hanging struct{ storage.Interface }

// Create implements storage.Interface.
func (hanging) Create(context.Context, string, runtime.Object, runtime.Object, uint64) error {
	return apierrors.NewTimeoutError("etcd did not confirm the create", 0)
}

// TestClaimNotConfirmed checks that a client sends its Service again if etcd does not confirm the claim of a value for it.
func TestClaimNotConfirmed(t *testing.T) {
	t.Parallel()
	ranges, err := Ranges{}.WithDefaults()
	if err != nil {
		t.Fatal(err)
	}
	unconfirmed := claims{storage: genericregistry.DryRunnableStorage{Storage: hanging{}}}
	allocator := &Allocator{ranges: ranges, addresses: unconfirmed, ports: unconfirmed}
	for name, spec := range map[string]corev1.ServiceSpec{
		"any address":       {},
		"this address":      {ClusterIP: "10.96.3.4"},
		"any node port":     {ClusterIP: "None", Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 80}}},
		"this node port":    {ClusterIP: "None", Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 80, NodePort: 30001}}},
		"health check port": {ClusterIP: "None", Type: corev1.ServiceTypeLoadBalancer, ExternalTrafficPolicy: "Local"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "one"}, Spec: spec}
			err := (&allocation{Allocator: allocator, service: service}).allocate(t.Context())
			if _, again := apierrors.SuggestsClientDelay(err); !again || !strings.Contains(err.Error(), "nothing was stored, try again: claim ") {
				t.Errorf("the answer does not tell the client to try again: %v", err)
			}
		})
	}
}
