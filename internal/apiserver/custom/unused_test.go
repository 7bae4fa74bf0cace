package custom

import (
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/apiserver/custom/kind"
	"holdfast.dev/holdfast/internal/apiserver/custom/served"
	"holdfast.dev/holdfast/internal/definition"
)

// idleServer returns a server with one resource that no request has used.
func idleServer() (*Server, schema.GroupResource, *definition.CustomResourceDefinition) {
	crd := &definition.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "boats.example.com"}}
	crd.Spec.Group = "example.com"
	crd.Status.AcceptedNames = apiextensionsv1.CustomResourceDefinitionNames{Plural: "boats", Kind: "Boat"}
	crd.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{
		{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue},
	}
	s := &Server{resources: map[schema.GroupResource]*served.Resource{}, controller: &controller{}}
	s.replace(crd)
	return s, kind.ResourceOf(crd), crd
}

// TestCloseUnused checks that the server closes a resource some time after its last request, and not
// while a request uses it.
func TestCloseUnused(t *testing.T) {
	t.Parallel()
	s, name, _ := idleServer()
	later := time.Now().Add(time.Hour)
	first := s.resources[name]
	s.closeUnused(later)
	if s.resources[name] != first {
		t.Error("a resource that nobody used was replaced")
	}

	s.acquire(name)
	s.acquire(name).Release()
	s.closeUnused(later)
	if s.resources[name] != first {
		t.Error("a resource in use was closed")
	}

	first.Terminating.Store(true)
	first.Release()
	s.closeUnused(time.Now().Add(-time.Minute))
	if s.resources[name] != first {
		t.Error("a resource that was used a moment ago was closed")
	}
	s.closeUnused(later)
	next := s.resources[name]
	if next == first || !next.Terminating.Load() || next.WasUsed() {
		t.Error("an unused resource was not replaced by a new one in the same state")
	}
}

// TestReplaceUnused checks that an unused resource has the newest state of its definition, so that the
// state before it is not kept in memory.
func TestReplaceUnused(t *testing.T) {
	t.Parallel()
	s, name, crd := idleServer()
	second := crd.DeepCopy()
	second.Labels = map[string]string{"a": "b"}
	s.replace(second)
	if s.resources[name].CRD != second {
		t.Error("an unused resource has the old definition")
	}

	s.acquire(name).Release()
	used, third := s.resources[name], second.DeepCopy()
	third.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	s.replace(third)
	if s.resources[name] != used || !used.Terminating.Load() {
		t.Error("a resource in use was replaced, or does not know that its definition is being deleted")
	}
}
