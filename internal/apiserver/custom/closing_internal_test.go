package custom

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/apiserver/custom/served"
	"holdfast.dev/holdfast/internal/apiserver/definitions"
	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/definition"
)

// TestWriteDuringClosing begins a write while the server learns that the kind is closed for writes: the resource has the new state of the
// definition, and the controller does not have it yet. The transaction of the write must fail.
func TestWriteDuringClosing(t *testing.T) {
	t.Parallel()
	open := &definition.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "boats.example.com", ResourceVersion: "1"}}
	closed := open.DeepCopy()
	closed.ResourceVersion = "2"
	definition.SetCondition(closed, apiextensionsv1.CustomResourceDefinitionCondition{
		Type: definitions.ClosedForWrites, Status: apiextensionsv1.ConditionTrue, Message: "closed",
	}, metav1.Now())
	s := &Server{controller: &controller{observed: map[string]*definition.CustomResourceDefinition{open.Name: open}}}
	r := served.New(&served.Config{}, open)
	r.Observe(closed)
	ctx, _, err := s.beginWrite(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if fence, ok := etcd.FenceOf(ctx); !ok || fence.Revision != 1 {
		t.Errorf("the write compares the revision %d, want 1", fence.Revision)
	}
}
