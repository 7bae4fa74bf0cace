package collection_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/series"
	"holdfast.dev/holdfast/internal/waittest"
)

// dashed returns a text as a part of a name.
func dashed(text string) string { return strings.ReplaceAll(text, " ", "-") }

// makeMutable creates a ConfigMap that is not immutable.
func (c cluster) makeMutable(meta metav1.ObjectMeta) {
	c.Helper()
	if _, err := c.CoreV1().ConfigMaps(c.Namespace).Create(c.Context(), &corev1.ConfigMap{ObjectMeta: meta}, metav1.CreateOptions{}); err != nil {
		c.Fatal(err)
	}
}

// names returns the names of the ConfigMaps of the namespace with a label of a series, sorted.
func (c cluster) names() []string {
	c.Helper()
	list, err := c.CoreV1().ConfigMaps(c.Namespace).List(c.Context(), metav1.ListOptions{LabelSelector: series.Label})
	if err != nil {
		c.Fatal(err)
	}
	var found []string
	for i := range list.Items {
		found = append(found, list.Items[i].Name)
	}
	slices.Sort(found)
	return found
}

// await waits until the series of the namespace have some members.
func (c cluster) await(members ...string) {
	c.Helper()
	waittest.Until(c, fmt.Sprintf("members %v", members), func() error {
		if found := c.names(); !slices.Equal(found, members) {
			return fmt.Errorf("found %v", found)
		}
		return nil
	})
}

// TestNamespace collects the members of series of a namespace with the label. Annotations of the object count more than those of the namespace.
func TestNamespace(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ns := f.in("team", selected(), map[string]string{series.AfterAnnotation: "1m", series.KeepLastAnnotation: "2"})
	f.cluster = ns
	// A member that stays anyway counts too. It is the first one, so that it is older than the others, by its time or by its name.
	out := member("s")
	out[series.CollectLabel] = "never"
	ns.create(metav1.ObjectMeta{Name: "r-out", Labels: out})
	for i := range 5 {
		ns.create(metav1.ObjectMeta{Name: fmt.Sprintf("s-%d", i), Labels: member("s")})
	}
	ns.create(metav1.ObjectMeta{Name: "s", Labels: member("s")}) // the oldest, whenever it was created
	ns.create(metav1.ObjectMeta{Name: "t-1", Labels: member("t"), Annotations: map[string]string{series.KeepLastAnnotation: "0"}})
	ns.create(metav1.ObjectMeta{Name: "u-1", Labels: member("u"), Annotations: map[string]string{
		series.KeepLastAnnotation: "0", series.AfterAnnotation: "24h",
	}})
	ns.create(metav1.ObjectMeta{Name: "none"})
	ns.makeMutable(metav1.ObjectMeta{Name: "x-mutable", Labels: member("s")})
	f.pass(time.Minute)
	for _, name := range []string{"s", "s-0", "t-1"} {
		ns.awaitMarked(name)
	}
	f.awaitGone("t-1")
	// The names decide, because all have the same second of creation, or they do not.
	waittest.Until(t, "the old members are gone", func() error {
		f.pass(time.Second)
		if found := ns.names(); !slices.Equal(found, []string{"r-out", "s-3", "s-4", "u-1", "x-mutable"}) {
			return fmt.Errorf("found %v", found)
		}
		return nil
	})
	if ns.get("none") == nil {
		t.Error("an object without a series was deleted")
	}
	// A new member takes the place of the oldest one, at once.
	ns.create(metav1.ObjectMeta{Name: "s-5", Labels: member("s")})
	ns.awaitMarked("s-3")
	// The member that is marked becomes one of the newest again.
	if err := ns.CoreV1().ConfigMaps(ns.Namespace).Delete(t.Context(), "s-5", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	f.pass(time.Minute)
	ns.awaitUnmarked("s-3")
	// The namespace keeps fewer.
	patch := []byte(`{"metadata":{"annotations":{"` + series.KeepLastAnnotation + `":"1"}}}`)
	if _, err := ns.CoreV1().Namespaces().Patch(t.Context(), ns.Namespace, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	ns.awaitMarked("s-3")
	patch = []byte(`{"metadata":{"labels":{"` + series.CollectLabel + `":null}}}`)
	if _, err := ns.CoreV1().Namespaces().Patch(t.Context(), ns.Namespace, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	ns.awaitUnmarked("s-3")
}

// TestReferencedCount counts members that are referenced among the newest.
func TestReferencedCount(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for i := range 5 {
		object := meta(fmt.Sprintf("s-%d", i))
		object.Labels[series.Label] = "s"
		f.create(object)
	}
	f.index.use(f.object("s-4"), true, f.clock.Now())
	f.index.use(f.object("s-0"), true, f.clock.Now())
	f.pass(time.Minute)
	f.awaitMarked("s-1")
	f.awaitGone("s-1")
	f.await("s-0", "s-2", "s-3", "s-4")
	f.collectSentinel()
	f.await("s-0", "s-2", "s-3", "s-4")
}
