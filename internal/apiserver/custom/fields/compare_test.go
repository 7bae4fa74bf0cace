package fields

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/internal/apiserver/custom/kind"
	"holdfast.dev/holdfast/internal/apiserver/custom/object"
)

// forms are the recorders of one endpoint.
type forms struct {
	library *Library
	parts   differing
	quick   *Quick
	// calls counts the calls of the library by the quick form.
	calls *calls
}

// formsOf returns the recorders for the objects of a version, or for their status.
func formsOf(t *testing.T, v *kind.Version, part string) forms {
	t.Helper()
	e := Endpoint{Version: v, Subresource: part}
	library, err := newLibrary(e)
	if err != nil {
		t.Fatal(err)
	}
	counted := &calls{Recorder: library}
	return forms{library, differing{library}, quickOver(e, counted), counted}
}

// calls is a recorder that counts its calls.
type calls struct {
	Recorder
	count int
}

// Create implements Recorder.
func (c *calls) Create(obj *object.Object, manager string) *object.Object {
	c.count++
	return c.Recorder.Create(obj, manager)
}

// Update implements Recorder.
func (c *calls) Update(stored, updated *object.Object, manager string) *object.Object {
	c.count++
	return c.Recorder.Update(stored, updated, manager)
}

// Apply implements Recorder.
func (c *calls) Apply(stored *object.Object, applied Configuration) (*object.Object, error) {
	c.count++
	return c.Recorder.Apply(stored, applied)
}

// tally counts the writes of a fuzz target, those that took the quick way, and a part of these.
type tally struct {
	mu                  sync.Mutex
	writes, quick, part int
}

func (c *tally) add(isQuick, isPart bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writes++
	if isQuick {
		c.quick++
	}
	if isQuick && isPart {
		c.part++
	}
}

// requires fails at the end of the target if less than one of so many writes took the quick way, or was of the part. The numbers leave
// room: the order of maps makes a third more or less of them.
func (c *tally) requires(f *testing.F, quick, part int) {
	f.Cleanup(func() {
		if c.writes > 400 && (c.quick < c.writes/quick || c.part < c.writes/part) {
			f.Errorf("of %d writes, %d took the quick way, and %d of them were of the wanted kind", c.writes, c.quick, c.part)
		}
	})
}

// unchanged remembers an object. The result fails the test if the object was changed since.
func unchanged(t *testing.T, obj map[string]any) func() {
	t.Helper()
	before := fmt.Sprint(obj)
	return func() {
		t.Helper()
		if after := fmt.Sprint(obj); after != before {
			t.Fatalf("changed from %s to %s", before, after)
		}
	}
}

func copied(obj *object.Object) *object.Object { return object.Of(runtime.DeepCopyJSON(obj.Object)) }

// timeless returns the content of an object without the times of its managed fields.
func timeless(obj *object.Object) map[string]any {
	out := copied(obj)
	entries := out.GetManagedFields()
	for i := range entries {
		entries[i].Time = nil
	}
	// The field manager sorts the entries by their time.
	slices.SortFunc(entries, func(a, b metav1.ManagedFieldsEntry) int {
		return cmp.Or(strings.Compare(a.Manager, b.Manager), strings.Compare(string(a.Operation), string(b.Operation)),
			strings.Compare(a.Subresource, b.Subresource))
	})
	out.SetManagedFields(entries)
	return out.Object
}

// applied returns an object after a forced apply of another object by the library.
func (f forms) applied(live, config *object.Object, by string) *object.Object {
	config = copied(config)
	config.Object["metadata"] = map[string]any{"name": "a"}
	out, err := f.library.Apply(live, Configuration{Content: config.Object, Manager: by, Force: true})
	if err != nil {
		return live // the configuration does not fit the schema
	}
	out.SetUID("1")
	return out
}
