package stored

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

// boat is an object.
type boat struct{ name, value string }

// fleet receives boats.
type fleet struct {
	boats  map[string]string
	listed bool
	failed error
}

func (f *fleet) Replace(boats []boat) {
	f.boats, f.listed, f.failed = map[string]string{}, true, nil
	for _, b := range boats {
		f.boats[b.name] = b.value
	}
}

func (f *fleet) Change(change Change[boat]) {
	if change.Deleted {
		delete(f.boats, change.Object.name)
		return
	}
	f.boats[change.Object.name] = change.Object.value
}

func (f *fleet) Fail(_ context.Context, err error) { f.failed = err }

// String returns the names and values of the boats: a=1 b=2.
func (f *fleet) String() string {
	var found []string
	for name, value := range f.boats {
		found = append(found, name+"="+value)
	}
	slices.Sort(found)
	return strings.Join(found, " ")
}

// boatOf returns a boat, given as name=value.
func boatOf(text string) boat {
	name, value, _ := strings.Cut(text, "=")
	return boat{name, value}
}

func listOf(revision int64, boats ...string) List[boat] {
	list := List[boat]{Revision: revision}
	for _, text := range boats {
		list.Items = append(list.Items, boatOf(text))
	}
	return list
}

// TestFeed passes a list and changes to a feed. A change is a write of an object with its value, a=1,
// or a deletion, -a.
func TestFeed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		// before and after are changes before and after the list, with the revisions 1, 2 and so on.
		before, after []string
		list          List[boat]
		want          string
	}{
		"list":                  {list: listOf(5, "a=1", "b=2"), want: "a=1 b=2"},
		"older changes":         {before: []string{"a=0", "-b"}, list: listOf(2, "a=1", "b=2"), want: "a=1 b=2"},
		"newer changes waited":  {before: []string{"a=0", "-b", "c=3"}, list: listOf(1, "a=1", "b=2"), want: "a=1 c=3"},
		"newer changes":         {list: listOf(0, "a=1"), after: []string{"b=2", "-a"}, want: "b=2"},
		"deleted and created":   {list: listOf(0, "a=1"), after: []string{"-a", "a=2"}, want: "a=2"},
		"created in the list":   {before: []string{"-a", "a=2"}, list: listOf(2, "a=2"), want: "a=2"},
		"deletion of the other": {list: listOf(0, "a=1"), after: []string{"-b"}, want: "a=1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			received := &fleet{}
			f := &feed[boat]{receiver: received}
			attempt := f.begin()
			revision := int64(0)
			change := func(text string) {
				revision++
				deleted := strings.HasPrefix(text, "-")
				f.change(Change[boat]{Object: boatOf(strings.TrimPrefix(text, "-")), Deleted: deleted, Revision: revision})
			}
			for _, text := range test.before {
				change(text)
			}
			if received.listed {
				t.Error("listed before the list")
			}
			f.replace(attempt, test.list)
			for _, text := range test.after {
				change(text)
			}
			if got := received.String(); got != test.want {
				t.Errorf("objects %q, want %q", got, test.want)
			}
			if !received.listed {
				t.Error("not listed after the list")
			}
		})
	}
}

// TestFeedListsAgain checks what happens to a list that is under way when the next one begins, and
// to a change that cannot be read.
func TestFeedListsAgain(t *testing.T) {
	t.Parallel()
	received := &fleet{}
	f := &feed[boat]{receiver: received}
	first := f.begin()
	second := f.begin()
	f.replace(first, listOf(1, "stale=1"))
	if got := received.String(); got != "" || f.isCurrent(first) {
		t.Errorf("an outdated list was used: %s", got)
	}
	f.replace(second, listOf(2, "a=1"))

	if f.change(Change[boat]{Object: boatOf("a"), Revision: 3, Err: errors.New("no key")}) {
		t.Error("a change that cannot be read needs no new list")
	}
	if received.failed == nil {
		t.Error("a change that cannot be read is no failure")
	}
	third := f.begin()
	f.change(Change[boat]{Object: boatOf("b=2"), Revision: 4})
	f.fail(t.Context(), errors.New("still no key"))
	if !f.isCurrent(third) || len(f.pending) > 0 {
		t.Error("changes before a list keep waiting")
	}
	f.replace(third, listOf(5, "a=1", "b=2"))
	if got := received.String(); got != "a=1 b=2" || received.failed != nil {
		t.Errorf("after the list: %s, failure %v", got, received.failed)
	}

	f.stop()
	f.change(Change[boat]{Object: boatOf("c=3"), Revision: 6})
	f.replace(third, listOf(7))
	if got := received.String(); got != "a=1 b=2" {
		t.Errorf("a stopped feed passed on a change: %s", got)
	}
}
