package collection_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/series"
	"holdfast.dev/holdfast/internal/waittest"
)

// TestTimes marks objects after their time, and deletes them a minute later.
func TestTimes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	began := f.clock.Now()
	f.create(meta("minute"))
	short, hour := meta("short"), meta("hour")
	short.Annotations[series.AfterAnnotation] = "10s" // at least a minute
	f.create(short)
	hour.Annotations = nil
	f.create(hour)
	f.pass(55 * time.Second)
	f.collectSentinel() // 2 minutes
	f.awaitGone("minute")
	f.awaitGone("short")
	f.awaitEvent("minute", "Unused", "no object has referred to it since 20")
	f.awaitEvent("minute", "Unused", ": the server deletes it after ")
	f.awaitEvent("short", "Collected", "the server has deleted it")
	if got := f.metric("holdfast_collected_total", "ConfigMap"); got != 3 {
		t.Errorf("%v ConfigMaps were collected, want 3", got)
	}
	if mark := f.get("hour").Annotations[series.UnusedSinceAnnotation]; mark != "" {
		t.Fatalf("marked after minutes: %s", mark)
	}
	f.pass(57 * time.Minute)
	mark := f.awaitMarked("hour")
	since, err := time.Parse(time.RFC3339, mark)
	if err != nil || since.Before(began.Truncate(time.Second)) || since.After(began.Add(10*time.Second)) {
		t.Errorf("marked with %q (%v), want about %v", mark, err, began)
	}
	f.pass(55 * time.Second)
	if f.get("hour") == nil {
		t.Error("deleted before a minute has passed")
	}
	f.pass(5 * time.Second)
	f.awaitGone("hour")
}

// TestUsedAgain removes the mark of an object that becomes referenced. When it is unreferenced again, the time begins again.
func TestUsedAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create(meta("a"))
	f.pass(time.Minute)
	f.awaitMarked("a")
	f.index.use(f.object("a"), true, f.clock.Now())
	f.awaitUnmarked("a")
	f.awaitEvent("a", "Used", "it is not deleted: an object refers to it")
	f.collectSentinel()
	f.index.use(f.object("a"), false, f.clock.Now())
	f.pass(50 * time.Second)
	if found := f.get("a"); found == nil || found.Annotations[series.UnusedSinceAnnotation] != "" {
		t.Fatalf("marked or deleted too early: %v", found)
	}
	f.pass(10 * time.Second)
	f.awaitMarked("a")
	// A reference that comes and goes between two looks of the controller.
	f.index.change(f.object("a"), func() { f.index.since[f.object("a")] = f.clock.Now() })
	f.awaitUnmarked("a")
	f.pass(time.Minute)
	f.awaitMarked("a")
	f.pass(time.Minute)
	f.awaitGone("a")
}

// TestLateIndex does not delete an object if only the stored objects refer to it, and not those that the index has read.
func TestLateIndex(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create(meta("a"))
	f.pass(time.Minute)
	f.awaitMarked("a")
	f.index.change(f.object("a"), func() { f.index.late[f.object("a")] = true })
	waittest.Until(t, "the server removes the mark", func() bool {
		f.pass(time.Second) // the controller may have noted the time of the mark late
		return f.get("a").Annotations[series.UnusedSinceAnnotation] == ""
	})
	f.awaitEvent("a", "Used", "an object refers to it")
	f.awaitUnmarked("a")
	f.index.change(f.object("a"), func() { delete(f.index.late, f.object("a")) })
	f.pass(time.Minute)
	f.awaitMarked("a")
	f.pass(time.Minute)
	f.awaitGone("a")
}

// TestMarksOfClients trusts no mark that a client wrote, whatever time and manager it has. If a client removes a mark, the time begins again.
func TestMarksOfClients(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const past, future = "2020-01-01T00:00:00Z", "2120-01-01T00:00:00Z"
	own := metav1.PatchOptions{FieldManager: "holdfast-collector"}
	for name, mark := range map[string]string{"past": past, "future": future, "text": "soon"} {
		object := meta(name)
		object.Annotations[series.UnusedSinceAnnotation] = mark
		f.create(object)
	}
	f.create(meta("forged"))
	f.annotate("forged", map[string]any{series.UnusedSinceAnnotation: past}, own)
	f.awaitUnmarked("forged")
	f.pass(30 * time.Second)
	for _, name := range []string{"past", "future", "text", "forged"} {
		if f.get(name) == nil {
			t.Fatalf("%s is deleted early", name)
		}
	}
	f.pass(31 * time.Second)
	for _, name := range []string{"past", "future", "text", "forged"} {
		waittest.Until(t, name+" has the mark of the server", func() bool {
			found := f.get(name).Annotations[series.UnusedSinceAnnotation]
			return found != past && found != future && found != "soon" && found != ""
		})
	}
	// Changed, removed, and removed as another field manager.
	f.annotate("past", map[string]any{series.UnusedSinceAnnotation: past}, metav1.PatchOptions{})
	f.annotate("forged", map[string]any{series.UnusedSinceAnnotation: past}, own)
	f.annotate("future", map[string]any{series.UnusedSinceAnnotation: nil}, metav1.PatchOptions{})
	f.awaitUnmarked("forged")
	f.pass(time.Minute) // they are marked again, if the controller has seen it before
	f.awaitGone("text")
	for _, name := range []string{"past", "forged", "future"} {
		if f.get(name) == nil {
			t.Errorf("%s is deleted early", name)
		}
	}
	for _, name := range []string{"past", "forged", "future"} {
		f.pass(time.Minute)
		waittest.Until(t, name+" is gone", func() bool {
			f.pass(time.Second)
			return f.get(name) == nil
		})
	}
}

// TestNewLeader lets the time of unmarked objects begin again, and that of marked ones go on.
func TestNewLeader(t *testing.T) {
	t.Parallel()
	f := newStopped(t)
	stop := f.start()
	f.create(meta("marked"))
	forged := meta("forged")
	forged.Annotations[series.UnusedSinceAnnotation] = "2020-01-01T00:00:00Z"
	f.pass(time.Minute)
	f.awaitMarked("marked")
	stop()
	f.create(meta("unmarked"))
	f.create(forged)
	f.pass(50 * time.Second)
	f.start()
	began := f.clock.Now()
	f.pass(58 * time.Second)
	if f.get("marked") == nil {
		t.Fatal("the minute of a mark did not begin again")
	}
	f.pass(3 * time.Second)
	f.awaitGone("marked")
	for _, name := range []string{"unmarked", "forged"} {
		// The object may be gone before the test sees its mark. The Event stays.
		waittest.Until(t, "the second leader marks "+name, func() bool {
			f.pass(time.Second)
			return len(f.messages(name, "Unused")) > 0
		})
		_, since, _ := strings.Cut(f.messages(name, "Unused")[0], "since ")
		since, _, _ = strings.Cut(since, ": ")
		if at, err := time.Parse(time.RFC3339, since); err != nil || at.Before(began.Add(-10*time.Second)) {
			t.Errorf("%s is marked as unused since %s, and the second leader began at %s", name, since, began)
		}
	}
	f.pass(time.Minute)
	f.awaitGone("unmarked")
	f.awaitGone("forged")
}

// TestNotCollected leaves objects alone, and removes a mark when an object is not to be collected any more.
func TestNotCollected(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	owner := f.create(metav1.ObjectMeta{Name: "owner"})
	reference := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}
	changes := map[string]map[string]any{
		"unlabelled":  {"labels": map[string]any{series.CollectLabel: nil}},
		"other value": {"labels": map[string]any{series.CollectLabel: "never"}},
		"kept":        {"annotations": map[string]any{"holdfast.dev/keep": "always"}},
		"owned": {"ownerReferences": []any{map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "name": owner.Name, "uid": owner.UID, "controller": true,
		}}},
		"newest":  {"labels": map[string]any{series.Label: "s"}},
		"longer":  {"annotations": map[string]any{series.AfterAnnotation: "24h"}},
		"invalid": {"annotations": map[string]any{series.AfterAnnotation: "soon"}},
		"number":  {"labels": map[string]any{series.Label: "t"}, "annotations": map[string]any{series.KeepLastAnnotation: "-1"}},
	}
	reasons := map[string]string{
		"unlabelled": "neither it nor its namespace selects it", "other value": "neither it nor its namespace selects it",
		"kept": "the annotation holdfast.dev/keep keeps it", "owned": "it is left to the controller that owns it",
		"newest": "it is one of the newest 3 of its series", "longer": "it stays until no object has referred to it for 24h",
		"invalid": `annotation holdfast.dev/collect-after: "soon" is not a duration`,
		"number":  `annotation holdfast.dev/keep-last: "-1" is not a number of objects`,
	}
	named := func(prefix, name string) string { return prefix + dashed(name) }
	for name, change := range changes {
		// One has it from the beginning, and one gets it when it is marked.
		f.create(meta(named("before-", name)))
		f.create(meta(named("after-", name)))
		if err := f.tryPatch(named("before-", name), change, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	object := meta("with-owner")
	object.OwnerReferences = []metav1.OwnerReference{reference}
	f.create(object)
	f.makeMutable(meta("mutable"))
	f.pass(time.Minute)
	for name, change := range changes {
		f.awaitMarked(named("after-", name))
		if err := f.tryPatch(named("after-", name), change, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		f.awaitUnmarked(named("after-", name))
		f.awaitEvent(named("after-", name), "Used", reasons[name])
	}
	f.pass(time.Minute)
	f.awaitGone("with-owner")
	f.collectSentinel()
	for name := range changes {
		for _, prefix := range []string{"before-", "after-"} {
			if found := f.get(named(prefix, name)); found == nil || found.Annotations[series.UnusedSinceAnnotation] != "" {
				t.Errorf("%s is deleted or marked: %v", named(prefix, name), found)
			}
		}
	}
	if f.get("mutable") == nil {
		t.Error("a mutable object was deleted")
	}
	for _, name := range []string{"before-invalid", "before-number"} {
		f.awaitEvent(name, "CollectionInvalid", "it is not deleted: "+reasons[name[len("before-"):]])
		if got := f.messages(name, "CollectionInvalid"); len(got) != 1 {
			t.Errorf("%d Events about %s: %q", len(got), name, got)
		}
	}
	waittest.Until(t, "four objects wait for a valid annotation", func() bool {
		return f.metric("holdfast_collection_waiting_objects", "invalid") == 4
	})
	f.annotate("before-invalid", map[string]any{series.AfterAnnotation: "1m"}, metav1.PatchOptions{})
	f.awaitMarked("before-invalid")
}
