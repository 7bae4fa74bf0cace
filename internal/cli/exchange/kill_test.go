package exchange_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/internal/cli/exchange"
)

// attempt does what the command does, in a process that may end at a request: it finishes the journal of the object if there is one, and
// otherwise begins the replacement, unless the object is new already. unchecked leaves the check out.
func (c cluster) attempt(t testing.TB, kill *killer, target exchange.Target, unchecked bool) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	kill.end = cancel
	e := exchanger(t, shared, kill)
	name := target.New.GetName()
	entry, err := e.Find(ctx, configMaps.GroupResource(), c.Namespace, name)
	if err != nil {
		return err
	}
	if entry != nil {
		_, err := e.Resume(ctx, entry, true)
		return err
	}
	stored := c.get(t, name)
	if stored == nil {
		return errors.New("the object is absent, and there is no journal")
	}
	if stored.GetUID() != target.Old.GetUID() {
		return nil
	}
	if !unchecked {
		if err := e.Check(ctx, target); err != nil {
			return err
		}
	}
	_, err = e.Replace(ctx, target)
	return err
}

// A process that ends at any of its requests leaves a state that the next one finishes, also if that one ends too. In between, the object or
// its journal is stored.
func TestKilledAtEachRequest(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	rounds := 0
	for _, handled := range []bool{false, true} {
		for first, more := int32(1), true; more; first++ {
			// Each third request of the second process, another third for each first one.
			for second, again := first%3+1, true; again; second += 3 {
				rounds++
				more, again = c.round(t, fmt.Sprintf("a%d", rounds), &killer{at: first, handled: handled}, &killer{at: second, handled: handled})
			}
		}
	}
	t.Logf("%d rounds", rounds)
	if rounds < 50 {
		t.Errorf("%d rounds", rounds)
	}
}

// round replaces an object in three processes, of which the first two may end at a request. It reports which of the two did.
func (c cluster) round(t testing.TB, name string, first, second *killer) (firstKilled, secondKilled bool) {
	t.Helper()
	what := fmt.Sprintf("killed at request %d and at request %d, handled %t", first.at, second.at, first.handled)
	old := c.create(t, c.configMap(t, name, "1"))
	target := exchange.Target{Resource: configMaps, Old: old, New: c.configMap(t, name, "2")}
	run := func(kill *killer) bool {
		err := c.attempt(t, kill, target, false)
		if c.get(t, name) == nil && c.find(t, name) == nil {
			t.Fatalf("%s: neither the object nor a journal is stored", what)
		}
		if !kill.killed() && err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		return kill.killed()
	}
	firstKilled, secondKilled = run(first), run(second)
	run(&killer{})
	if c.holds(t, what, name, "2").GetUID() == old.GetUID() {
		t.Errorf("%s: the object is not replaced", what)
	}
	return firstKilled, secondKilled
}

// If the server refuses the new object after the old one is gone, the old one is created again, also by a process after one that ended.
func TestRefusedIsRestored(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	for _, handled := range []bool{false, true} {
		killedOnce := true
		for at := int32(1); killedOnce; at++ {
			name := fmt.Sprintf("a%d-%t", at, handled)
			what := fmt.Sprintf("killed at request %d, handled %t", at, handled)
			old := c.create(t, c.configMap(t, name, "1"))
			refused := c.configMap(t, name, "2")
			// The server would have refused the dry run too; a policy that comes in between has the same effect.
			if err := unstructured.SetNestedField(refused.Object, "x", "data", "not a key!"); err != nil {
				t.Fatal(err)
			}
			target := exchange.Target{Resource: configMaps, Old: old, New: refused}
			kill := &killer{at: at, handled: handled}
			err := c.attempt(t, kill, target, true)
			killedOnce = kill.killed()
			if c.get(t, name) == nil && c.find(t, name) == nil {
				t.Fatalf("%s: neither the object nor a journal is stored", what)
			}
			if entry := c.find(t, name); entry != nil {
				_, err = exchanger(t, shared, nil).Resume(t.Context(), entry, true)
			}
			restored := c.holds(t, what, name, "1")
			switch {
			case !killedOnce:
				wants(t, what, err, "a valid config key", "The old object was created again, with the UID "+string(restored.GetUID()), "absent for at most")
				fallthrough
			case restored.GetUID() != old.GetUID():
				if restored.GetLabels()["app"] != "a" || restored.GetAnnotations()[applied] != "1" {
					t.Errorf("%s: metadata %v", what, restored.Object["metadata"])
				}
			}
		}
	}
}
