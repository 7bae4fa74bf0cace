package custom

import (
	"math/rand/v2"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/apiserver/custom/text"
)

// TestUnusualWrites checks that the library handles an update of the status of another kind, and a patch with an empty resource version.
func TestUnusualWrites(t *testing.T) {
	t.Parallel()
	g := boats{rand.New(rand.NewPCG(1, 1))}
	v, _ := g.version(t)
	v.resource.server.format = &text.JSON{}
	empty := newObject(v.groupVersionKind())
	created := objectOf(runtime.DeepCopyJSON(empty.Object))
	created.SetName("a")
	created.SetLabels(map[string]string{"x": "1"})
	live := g.judged(t, v, content(v.manager(t, v.updates(), "").UpdateNoErrors(empty, created, "m")))
	live.SetResourceVersion("1")
	live.valid = v
	managers := live.GetManagedFields()
	ofStatus := managers[0]
	ofStatus.Subresource = "status"
	live.SetManagedFields(append(managers, ofStatus))

	for name, test := range map[string]struct {
		kind string
		want bool
	}{"the same kind": {"Boat", true}, "another kind": {"Ship", false}} {
		updated := copied(live)
		updated.SetKind(test.kind)
		if _, got := v.updateValues(live, updated, writer{"m", "Update", "status"}); got != test.want {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
	for patch, want := range map[string]bool{
		`{"metadata":{"resourceVersion":"2"}}`: true,
		`{"metadata":{"resourceVersion":""}}`:  false,
	} {
		if _, got := v.patchValues(live, []byte(patch)); got != want {
			t.Errorf("%s: got %v, want %v", patch, got, want)
		}
	}
}
