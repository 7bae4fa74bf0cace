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

// TestKeep checks what a reader keeps of an object of the watch cache: the object, or a copy that shares its parts.
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
	objects := keptObjects{resource: resource, shared: shared}
	if got := objects.Keep(cached); got != runtime.Object(cached) {
		t.Error("a reader keeps a copy of an object that is not wrapped")
	}
	got, ok := objects.Keep(wrapped{cached}).(*corev1.Pod)
	if !ok || got == cached {
		t.Fatalf("a reader keeps %T", got)
	}
	if diff := cmp.Diff(cached, got); diff != "" {
		t.Errorf("kept object (-want +got):\n%s", diff)
	}
	if &got.ManagedFields[0] != &cached.ManagedFields[0] || &got.Spec.Containers[0] != &cached.Spec.Containers[0] {
		t.Error("the copy has managed fields or containers of its own")
	}
}
