package storage

import (
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/apiserver/sharing"
)

// wrapped is an object as a watch cache wraps it.
type wrapped struct{ *corev1.Pod }

// CacheEncode implements runtime.CacheableObject.
func (w wrapped) CacheEncode(_ runtime.Identifier, encode func(runtime.Object, io.Writer) error, to io.Writer) error {
	return encode(w.Pod, to)
}

// GetObject implements runtime.CacheableObject.
func (w wrapped) GetObject() runtime.Object { return w.Pod.DeepCopy() }

// TestKeep checks that a reader keeps an object that shares its parts with the one in the watch cache.
func TestKeep(t *testing.T) {
	t.Parallel()
	resource, shared := schema.GroupResource{Resource: "pods"}, sharing.New()
	if shared == nil {
		t.Skip("nothing is shared with the build tag plain")
	}
	cached := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "a", UID: "1",
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "b", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`)}},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Args: []string{"--listen=:8080"}}}},
	}
	shared.Share(resource, cached)
	objects, want := keptObjects{resource: resource, shared: shared}, cached.DeepCopy()
	for name, obj := range map[string]runtime.Object{"wrapped": wrapped{cached}, "copied": cached.DeepCopy()} {
		got, ok := objects.Keep(obj).(*corev1.Pod)
		if !ok || got == cached {
			t.Fatalf("%s: a reader keeps %T", name, got)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: kept object (-want +got):\n%s", name, diff)
		}
		if &got.ManagedFields[0] != &cached.ManagedFields[0] || &got.Spec.Containers[0] != &cached.Spec.Containers[0] {
			t.Errorf("%s: the object has managed fields or containers of its own", name)
		}
	}
}
