package history

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"

	"holdfast.dev/holdfast/internal/fieldhistory"
	"holdfast.dev/holdfast/internal/yamltest"
	"holdfast.dev/holdfast/ownership"
)

// noon is the time of the first entry. The others follow every hour.
var noon = time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)

// undoOf returns an undo of an object that has had these states. The history begins with an update, or with the creation of the object.
func undoOf(t *testing.T, created bool, states ...string) *undo {
	t.Helper()
	u := &undo{object: object{info: &resource.Info{Name: "a", Mapping: &meta.RESTMapping{
		Resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Scope: meta.RESTScopeRoot,
	}}}}
	var before map[string]any
	for i, text := range states {
		after := yamltest.Map(t, text)
		entry := fieldhistory.Entry{
			Number: int64(i + 4), Time: noon.Add(time.Duration(i) * time.Hour), APIVersion: "v1", Operation: fieldhistory.Update,
			Changes: fieldhistory.Diff(before, after, fieldhistory.Options{Limit: 100}),
		}
		if before == nil {
			entry.Operation, entry.Changes = fieldhistory.Create, nil
		}
		u.list.Items = append(u.list.Items, entry)
		before = after
	}
	if !created {
		u.list.Items = u.list.Items[1:]
	}
	u.live = &unstructured.Unstructured{Object: yamltest.Map(t, states[len(states)-1])}
	u.list.Fingerprint = strconv.FormatUint(fieldhistory.Fingerprint(u.content()), 16)
	return u
}

func TestTarget(t *testing.T) {
	states := []string{"{data: {a: one, b: x}}", "{data: {a: two, b: x}}", "{data: {a: two, b: z}}", "{data: {a: three, b: z}}"} // 4 to 7
	large := []string{"{data: {a: one}}", "{data: {a: '" + strings.Repeat("x", 200) + "'}}", "{data: {a: one, b: x}}"}
	now := noon.Add(3*time.Hour + time.Minute)
	number := func(n int64) *int64 { return &n }
	for name, test := range map[string]struct {
		states            []string
		created           bool
		fields            []string
		since             time.Duration
		number            *int64
		want, goal, error string
	}{
		"to":                {states: states, number: number(5), want: states[1], goal: "the state after entry 5"},
		"before the first":  {states: states, number: number(4), want: states[0], goal: "the state after entry 4"},
		"a field of then":   {states: states, number: number(4), fields: []string{".data.a"}, want: "{data: {a: one, b: z}}", goal: "the state after entry 4"},
		"the last change":   {states: states, fields: []string{".data.b"}, want: "{data: {a: three, b: x}}", goal: "without the change of .data.b in entry 6"},
		"of two fields":     {states: states, fields: []string{"data.b", ".data.a"}, want: "{data: {a: two, b: x}}", goal: "without the change of .data.b in entry 6, the change of .data.a in entry 7"},
		"since":             {states: states, since: 90 * time.Minute, want: states[1], goal: "the state before the last 1h30m0s, after entry 5"},
		"since a field":     {states: states, since: 90 * time.Minute, fields: []string{".data.b"}, want: "{data: {a: three, b: x}}", goal: "the state before the last 1h30m0s, after entry 5"},
		"since nothing":     {states: states, since: time.Second, want: states[3], goal: "the state before the last 1s, after entry 7"},
		"since too long":    {states: states, since: 10 * time.Hour, error: "the history does not reach back that far: it begins with entry 5 at 2026-11-18T13:00:00Z; --to 4 is the state before that entry"},
		"before created":    {states: states, created: true, since: 10 * time.Hour, error: "is before the object was created; \"kubectl delete configmaps/a\" deletes it"},
		"to before created": {states: states, created: true, number: number(3), error: "the state after entry 3 is before the object was created"},
		"too far":           {states: states, number: number(2), error: "it has those after the entries 4 to 7"},
		"not kept":          {states: large, number: number(5), error: "history does not keep the values of .data.a: nothing is undone; --field takes back other fields"},
		"beside not kept":   {states: large, number: number(5), fields: []string{".data.b"}, want: "{data: {a: one}}", goal: "the state after entry 5"},
		"past not kept":     {states: large, number: number(4), want: large[0], goal: "the state after entry 4"},
		"no change":         {states: states, fields: []string{".data.c"}, error: "--field .data.c: the history has no change of it"},
		"no change since":   {states: states[:1], created: true, fields: []string{".data.a"}, error: "it has not changed since entry 4 created the object"},
		"being deleted": {
			states: []string{"{metadata: {}}", "{metadata: {}, data: {}}", "{metadata: {deletionTimestamp: x}}"}, number: number(5),
			error: ".metadata.deletionTimestamp: the object is being deleted, and no write takes that back; --field takes back other fields",
		},
	} {
		t.Run(name, func(t *testing.T) {
			u := undoOf(t, test.created, test.states...)
			f := filter{fields: test.fields, since: test.since}
			if err := f.parse(test.since > 0); err != nil {
				t.Fatal(err)
			}
			err := u.setTarget(f, test.number, now)
			if test.error != "" {
				if err == nil || !strings.Contains(err.Error(), test.error) {
					t.Errorf("error %v, want %q", err, test.error)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(yamltest.Map(t, test.want), u.target); diff != "" {
				t.Errorf("target (-want +got):\n%s", diff)
			}
			if u.goal != test.goal {
				t.Errorf("goal %q, want %q", u.goal, test.goal)
			}
		})
	}
}

func TestOverlap(t *testing.T) {
	for name, test := range map[string]struct {
		one, other string
		want       bool
	}{
		"equal":          {".spec.a", ".spec.a", true},
		"inside":         {".spec.a.b", ".spec.a", true},
		"another":        {".spec.a", ".spec.b", false},
		"fewer keys":     {`.l[port=80,protocol="TCP"].x`, ".l[port=80]", true},
		"other keys":     {`.l[port=80,protocol="TCP"]`, ".l[port=81]", false},
		"different keys": {`.l[port=80]`, `.l[name="a"]`, true},
	} {
		t.Run(name, func(t *testing.T) {
			one, err := ownership.ParsePath(test.one)
			if err != nil {
				t.Fatal(err)
			}
			other, err := ownership.ParsePath(test.other)
			if err != nil {
				t.Fatal(err)
			}
			if overlap(one.Path, other.Path) != test.want || overlap(other.Path, one.Path) != test.want {
				t.Errorf("want %t", test.want)
			}
		})
	}
}

// A deleted object is created again without what the server sets, and without the finalizers of its deletion.
func TestBodyOfDeletedObject(t *testing.T) {
	u := undoOf(t, true, "{data: {a: x}}")
	u.live, u.version = nil, "v1"
	u.info.Mapping.GroupVersionKind.Kind = "ConfigMap"
	u.target = yamltest.Map(t, `
metadata: {name: a, uid: x, creationTimestamp: x, deletionTimestamp: x, deletionGracePeriodSeconds: 0, finalizers: [orphan, example.com/x], labels: {l: x}}
data: {a: x}`)
	want := yamltest.Map(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, finalizers: [example.com/x], labels: {l: x}}, data: {a: x}}")
	if diff := cmp.Diff(want, u.body()); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
}
