package garbage

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// lowest is a Counter that keeps the lowest number of objects since the first one.
type lowest struct {
	Counter
	number, least int64
}

func (c *lowest) Count(_ schema.GroupResource, _ string, change int64) {
	c.number += change
	c.least = min(c.least, c.number)
}

// A change of an object to one with another UID swaps the two: the number of objects is the same at every moment, and the dependents of
// the old one are enqueued.
func TestSwap(t *testing.T) {
	t.Parallel()
	kinds := &kind{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}}
	counter := &lowest{}
	enqueued := map[types.UID]int{}
	g := newGraph(func(uid types.UID) { enqueued[uid]++ }, counter)
	m := &monitor{kind: kinds, graph: g}
	object := func(name, uid string, owners ...metav1.OwnerReference) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(uid), OwnerReferences: owners}}
	}
	for _, obj := range []*metav1.PartialObjectMetadata{
		object("a", "old"), object("b", "other"), object("c", "dependent", metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "a", UID: "old"}),
	} {
		if err := m.Add(obj); err != nil {
			t.Fatal(err)
		}
	}
	counter.least = counter.number
	clear(enqueued)
	if err := m.Update(object("a", "new")); err != nil {
		t.Fatal(err)
	}
	if counter.number != 3 || counter.least != 3 {
		t.Errorf("%d objects, for a moment %d", counter.number, counter.least)
	}
	if enqueued["dependent"] == 0 {
		t.Errorf("enqueued: %v", enqueued)
	}
	if g.objects["old"] != nil || g.objects["new"] == nil || g.objects["other"] == nil {
		t.Errorf("objects %v", g.objects)
	}
}
