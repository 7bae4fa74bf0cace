package fieldhistory_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"holdfast.dev/holdfast/internal/fieldhistory"
	"holdfast.dev/holdfast/internal/native/views"
	"holdfast.dev/holdfast/internal/yamltest"
	"holdfast.dev/holdfast/ownership"
	"holdfast.dev/holdfast/value"
)

// pods has the lists of a pod: its containers have the key name, and their ports two keys.
func pods(t testing.TB) ownership.Lists {
	t.Helper()
	lists := views.New().Of(schema.GroupKind{Kind: "Pod"}).Lists()
	if got := lists.Field("spec").Field("containers").Keys(); !slices.Equal(got, []string{"name"}) {
		t.Fatalf("the keys of containers are %q", got)
	}
	return lists
}

func TestDiff(t *testing.T) {
	for name, test := range map[string]struct {
		before, after string
		limit         int
		// want has a line for each change.
		want string
	}{
		"a scalar":            {"spec: {a: 1, b: x}", "spec: {a: 2, b: x}", 100, `.spec.a: 1 -> 2`},
		"a new field":         {"spec: {}", "spec: {a: {b: 1}}", 100, `.spec.a: none -> {"b":1}`},
		"a field is null":     {"spec: {a: null}", "spec: {}", 100, `.spec.a: null -> none`},
		"a name with dots":    {"data: {}", `data: {"a.b/c": x}`, 100, `.data["a.b/c"]: none -> "x"`},
		"another kind":        {"spec: {a: [1]}", "spec: {a: {b: 1}}", 100, `.spec.a: [1] -> {"b":1}`},
		"a list without keys": {"spec: {x: [1, 2]}", "spec: {x: [2]}", 100, `.spec.x: [1,2] -> [2]`},
		"nothing":             {"spec: {x: [1, 2]}", "spec: {x: [1, 2]}", 100, ``},
		"an item": {
			"spec: {containers: [{name: a, image: x}, {name: b}]}", "spec: {containers: [{name: a, image: z}, {name: b}]}", 100,
			`.spec.containers[name="a"].image: "x" -> "z"`,
		},
		"items that come and go": {
			"spec: {containers: [{name: a}, {name: b}, {name: c}]}", "spec: {containers: [{name: x}, {name: b}, {name: z}]}", 100,
			`.spec.containers[name="c"]: {"name":"c"} -> none at 2
.spec.containers[name="a"]: {"name":"a"} -> none at 0
.spec.containers[name="x"]: none -> {"name":"x"} at 0
.spec.containers[name="z"]: none -> {"name":"z"} at 2`,
		},
		"another order": {
			"spec: {containers: [{name: a}, {name: b}]}", "spec: {containers: [{name: b}, {name: a}]}", 100,
			`.spec.containers: [{"name":"a"},{"name":"b"}] -> [{"name":"b"},{"name":"a"}]`,
		},
		"an item twice": {
			"spec: {containers: [{name: a}, {name: a}]}", "spec: {containers: [{name: a}]}", 100,
			`.spec.containers: [{"name":"a"},{"name":"a"}] -> [{"name":"a"}]`,
		},
		"two keys": {
			"spec: {containers: [{name: a, ports: [{containerPort: 80, protocol: TCP}]}]}",
			"spec: {containers: [{name: a, ports: [{containerPort: 80, protocol: TCP, name: h}]}]}", 100,
			`.spec.containers[name="a"].ports[containerPort=80,protocol="TCP"].name: none -> "h"`,
		},
		"a large value": {
			"spec: {}", "spec: {a: '0123456789'}", 8,
			`.spec.a: none -> sha256 12`,
		},
		"a large map": {
			"spec: {}", "spec: {a: {x: 1234567, z: 1}}", 8,
			`.spec.a: none -> {}
.spec.a.x: none -> 1234567
.spec.a.z: none -> 1`,
		},
		"a large item": {
			"spec: {containers: [{name: a, image: x, tty: true}]}", "spec: {containers: []}", 8,
			`.spec.containers[name="a"].image: "x" -> none
.spec.containers[name="a"].tty: true -> none
.spec.containers[name="a"]: {"name":"a"} -> none at 0`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := object(t, test.before), object(t, test.after)
			changes := fieldhistory.Diff(before, after, fieldhistory.Options{Lists: pods(t), Limit: test.limit})
			if diff := cmp.Diff(test.want, shown(changes)); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			checkRevert(t, before, after, changes)
		})
	}
}

// object decodes an object.
func object(t testing.TB, text string) map[string]any {
	t.Helper()
	return yamltest.Map(t, text)
}

// shown has a line for each change.
func shown(changes []fieldhistory.Change) string {
	side := func(text json.RawMessage, hash *fieldhistory.Hash) string {
		switch {
		case hash != nil && hash.HMAC != "":
			return fmt.Sprintf("hmac %d", hash.Size)
		case hash != nil:
			return fmt.Sprintf("sha256 %d", hash.Size)
		case text == nil:
			return "none"
		}
		return string(text)
	}
	var lines []string
	for _, c := range changes {
		line := fmt.Sprintf("%s: %s -> %s", c.Path, side(c.From, c.FromHash), side(c.To, c.ToHash))
		if c.Index != nil {
			line += fmt.Sprintf(" at %d", *c.Index)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// checkRevert checks that changes, after they were encoded and decoded, take the later content back to the earlier one, but for the
// values that are not kept.
func checkRevert(t *testing.T, before, after map[string]any, changes []fieldhistory.Change) {
	t.Helper()
	text, err := json.Marshal(fieldhistory.Entry{Number: 1, Operation: fieldhistory.Update, Changes: changes})
	if err != nil {
		t.Fatal(err)
	}
	var entry fieldhistory.Entry
	if err := json.Unmarshal(text, &entry); err != nil {
		t.Fatal(err)
	}
	unchanged, err := json.Marshal(after)
	if err != nil {
		t.Fatal(err)
	}
	got, err := fieldhistory.Revert(after, entry)
	if errors.Is(err, fieldhistory.ErrWhole) && len(changes) == 1 && changes[0].Path == "" && changes[0].FromHash != nil {
		return // the object has a field whose path cannot be read back, and is large
	}
	if err != nil {
		t.Fatalf("%v\nbefore %v\nafter %v\n%s", err, before, after, shown(changes))
	}
	if again, err := json.Marshal(after); err != nil || string(again) != string(unchanged) {
		t.Errorf("Revert changed its argument: %s, was %s (%v)", again, unchanged, err)
	}
	if !fieldhistory.Matches(before, got) {
		t.Errorf("before %v\nafter %v\nreverted %v\n%s", before, after, got, shown(changes))
	}
}

// The content before a write is the one that Revert returns, whatever the contents are.
func TestRevertIsExact(t *testing.T) {
	lists := pods(t)
	keyed := 0
	for seed := range uint64(1500) {
		r := random{rand.New(rand.NewPCG(seed, 1))}
		before, after := r.pod(), r.pod()
		checkFingerprints(t, before, after)
		edited := maps.Clone(before)
		edited["data"] = r.any(2)
		checkFingerprints(t, before, edited)
		changes := fieldhistory.Diff(before, after, fieldhistory.Options{Lists: lists, Limit: []int{0, 12, 60, 8000}[seed%4]})
		if strings.Contains(shown(changes), "[name=") {
			keyed++
		}
		checkRevert(t, before, after, changes)
		checkRevert(t, before, nil, fieldhistory.Diff(before, nil, fieldhistory.Options{Lists: lists, Limit: 60}))
		sealed := fieldhistory.Seal{Key: []byte("k"), UID: "u"}
		before, after = sealed.Secret(before), sealed.Secret(after)
		checkRevert(t, before, after, fieldhistory.Diff(before, after, fieldhistory.Options{Lists: lists, Limit: 60}))
	}
	if keyed < 300 {
		t.Errorf("only %d of the pairs have items that are compared by keys", keyed)
	}
}

// checkFingerprints compares the fingerprint of a content with the one that is computed from another content.
func checkFingerprints(t *testing.T, before, after map[string]any) {
	t.Helper()
	was, want := fieldhistory.Fingerprint(before), fieldhistory.Fingerprint(after)
	if got := fieldhistory.FingerprintAfter(was, before, after); got != want {
		t.Errorf("the fingerprint after %v and %v is %x, want %x", before, after, got, want)
	}
	// Fields that are equal in both may be missing.
	if spec, ok := after["spec"]; ok && value.Strict.Equal(before["spec"], spec) {
		before, after = maps.Clone(before), maps.Clone(after)
		delete(before, "spec")
		delete(after, "spec")
		if got := fieldhistory.FingerprintAfter(was, before, after); got != want {
			t.Errorf("the fingerprint without equal fields is %x, want %x", got, want)
		}
	}
	if equal := value.Strict.Equal(before, after); equal != (was == want) {
		t.Errorf("%v and %v have the fingerprints %x and %x", before, after, was, want)
	}
}

// random makes contents.
type random struct{ *rand.Rand }

func (r random) pod() map[string]any {
	containers := []any{}
	for range r.IntN(5) {
		container := map[string]any{"name": r.word(), "image": r.word(), "args": []any{r.word()}}
		ports := []any{}
		for range r.IntN(3) {
			ports = append(ports, map[string]any{"containerPort": int64(r.IntN(3)), "protocol": "TCP", "name": r.any(1)})
		}
		container["ports"] = ports
		containers = append(containers, container)
	}
	out := map[string]any{"metadata": map[string]any{"annotations": r.any(2)}, "spec": map[string]any{"containers": containers, "x": r.any(3)}}
	if r.IntN(2) == 0 {
		out["data"] = r.any(2)
	}
	out[r.word()] = r.any(3)
	return out
}

func (r random) word() string {
	words := []string{"a", "b", "c", "spec", "a.b/c", "", `q"u]o,t`, "…", "x\x00y", "#1", strings.Repeat("long", 90)}
	return words[r.IntN(len(words))]
}

func (r random) any(depth int) any {
	switch n := r.IntN(9); {
	case n < 3 && depth > 0:
		out := map[string]any{}
		for range r.IntN(4) {
			out[r.word()] = r.any(depth - 1)
		}
		return out
	case n < 4 && depth > 0:
		out := []any{}
		for range r.IntN(3) {
			out = append(out, r.any(depth-1))
		}
		return out
	case n == 4:
		return nil
	case n == 5:
		return int64(r.IntN(3)) << 52
	case n == 6:
		return float64(r.IntN(3)) / 3
	case n == 7:
		return r.IntN(2) == 0
	}
	return r.word()
}

func FuzzRevert(f *testing.F) {
	f.Add([]byte(`{"spec":{"containers":[{"name":"a"}]}}`), []byte(`{"spec":{"containers":[{"name":"b"},{"name":"a","x":[null]}]}}`), 20)
	f.Add([]byte(`{"data":{"a":"x"}}`), []byte(`{"":{}}`), 0)
	lists := views.New().Of(schema.GroupKind{Kind: "Pod"}).Lists()
	f.Fuzz(func(t *testing.T, first, second []byte, limit int) {
		var before, after map[string]any
		if utiljson.Unmarshal(first, &before) != nil || utiljson.Unmarshal(second, &after) != nil || before == nil || after == nil {
			return
		}
		checkRevert(t, before, after, fieldhistory.Diff(before, after, fieldhistory.Options{Lists: lists, Limit: limit}))
		checkFingerprints(t, before, after)
	})
}

func TestRevertRefuses(t *testing.T) {
	entry := fieldhistory.Entry{Number: 7, Operation: fieldhistory.Update, Changes: []fieldhistory.Change{
		{Path: ".spec.a", From: json.RawMessage("1"), To: json.RawMessage("2")},
	}}
	for name, test := range map[string]struct{ content, want string }{
		"another value": {"spec: {a: 3}", ".spec.a does not have the value that it had after the entry 7"},
		"no value":      {"spec: {}", ".spec.a does not have the value that it had after the entry 7"},
		"no parent":     {"{}", ".spec.a does not have the value that it had after the entry 7"},
		"no object":     {"spec: []", ".spec.a does not have the value that it had after the entry 7"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := fieldhistory.Revert(object(t, test.content), entry)
			var conflict *fieldhistory.ConflictError
			if !errors.As(err, &conflict) || err.Error() != test.want {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
	if _, err := fieldhistory.Revert(map[string]any{}, fieldhistory.Entry{Truncated: true}); !errors.Is(err, fieldhistory.ErrTruncated) {
		t.Errorf("error %v of a truncated entry", err)
	}
	created, err := fieldhistory.Revert(map[string]any{"a": "b"}, fieldhistory.Entry{Operation: fieldhistory.Create})
	if created != nil || err != nil {
		t.Errorf("before its creation the object was %v, %v", created, err)
	}
}

func TestSecrets(t *testing.T) {
	seal := fieldhistory.Seal{Key: []byte("key"), UID: "one"}
	before := object(t, "{type: Opaque, data: {a: aGk=}}")
	after := object(t, "{type: Opaque, data: {a: aG8=, b: eA==}, metadata: {annotations: {last: aGk=}, labels: {x: z}}}")
	changes := fieldhistory.Diff(seal.Secret(before), seal.Secret(after), fieldhistory.Options{Limit: 8 << 10})
	want := `.data.a: hmac 32 -> hmac 32
.data.b: none -> hmac 32
.metadata: none -> {}
.metadata.annotations: none -> {}
.metadata.annotations.last: none -> hmac 32
.metadata.labels: none -> {"x":"z"}`
	if diff := cmp.Diff(want, shown(changes)); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	text, err := json.Marshal(changes)
	if err != nil || strings.Contains(string(text), "aG") {
		t.Errorf("the changes %s have a value (%v)", text, err)
	}
	// A client has the values, and cannot compare them with HMACs.
	reverted, err := fieldhistory.Revert(after, fieldhistory.Entry{Changes: changes})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{".data.a"}, fieldhistory.NotKept(reverted)); diff != "" {
		t.Errorf("values that are not kept (-want +got):\n%s", diff)
	}
	other := fieldhistory.Seal{Key: []byte("key"), UID: "two"}
	if cmp.Equal(seal.Secret(before), other.Secret(before)) {
		t.Error("two Secrets with the same value have the same HMAC")
	}
}

func TestContent(t *testing.T) {
	obj := object(t, `
kind: Pod
apiVersion: v1
metadata: {name: a, generation: 2, resourceVersion: "3", managedFields: [{}], finalizers: [x]}
spec: {a: 1}
status: {b: 2}`)
	want := object(t, "{metadata: {name: a, finalizers: [x]}, spec: {a: 1}}")
	if diff := cmp.Diff(want, fieldhistory.Content(obj)); diff != "" {
		t.Errorf("content (-want +got):\n%s", diff)
	}
	if obj["kind"] != "Pod" || value.Strict.Equal(obj["metadata"], want["metadata"]) {
		t.Error("Content changed its argument")
	}
}

func TestBounds(t *testing.T) {
	bounds := fieldhistory.Bounds{Entries: 16, Bytes: 1000}
	for name, test := range map[string]struct {
		sizes []int32
		want  int
	}{
		"within":           {slices.Repeat([]int32{10}, 16), 0},
		"too many":         {slices.Repeat([]int32{10}, 17), 3},
		"too large":        {slices.Repeat([]int32{100}, 11), 3},
		"one is too large": {[]int32{2000}, 0},
		"the newest stays": {[]int32{10, 2000}, 1},
		"none":             {nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := bounds.Surplus(test.sizes); got != test.want {
				t.Errorf("%d entries are removed, want %d", got, test.want)
			}
		})
	}
}

// A client may nest a value deeply. The work grows with its size, not with its size times its depth.
func TestDeepValues(t *testing.T) {
	deep := func(leaf string) map[string]any {
		var v any = map[string]any{"x": strings.Repeat(leaf, 100)}
		for range 300 {
			v = map[string]any{"a": v, "b": int64(1)}
		}
		return map[string]any{"spec": v}
	}
	before, after := deep("1"), deep("2")
	changes := fieldhistory.Diff(before, after, fieldhistory.Options{Limit: 100})
	if len(changes) != 1 || strings.Count(changes[0].Path, ".") > 64 {
		t.Errorf("%d changes, the first is %s", len(changes), changes[0].Path)
	}
	checkRevert(t, before, after, changes)
	checkRevert(t, map[string]any{}, after, fieldhistory.Diff(map[string]any{}, after, fieldhistory.Options{Limit: 100}))
	checkRevert(t, before, map[string]any{}, fieldhistory.Diff(before, map[string]any{}, fieldhistory.Options{Limit: 8 << 10}))
}

// If the names of the changed fields alone are larger than an entry may be, it is not computed what they change.
func TestManyNames(t *testing.T) {
	fields := map[string]any{}
	for i := range 5000 {
		fields[fmt.Sprintf("f%d", i)] = "x"
	}
	bounds := fieldhistory.Bounds{Bytes: 64 << 10}
	text, err := bounds.Encode(fieldhistory.Entry{Number: 1}, map[string]any{"data": map[string]any{}}, map[string]any{"data": fields}, fieldhistory.Options{})
	if err != nil || !strings.Contains(string(text), `"truncated":true`) || len(text) > 200 {
		t.Errorf("entry %.300s, %v", text, err)
	}
}

// An entry has at most a quarter of the bytes of a history.
func TestEncode(t *testing.T) {
	fields, many := map[string]any{}, map[string]any{}
	for i := range 40 {
		fields[fmt.Sprint("f", i)] = strings.Repeat("x", 600)
	}
	for i := range 400 {
		many[fmt.Sprint("f", i)] = "x"
	}
	for name, test := range map[string]struct {
		after map[string]any
		want  func(fieldhistory.Entry) bool
	}{
		"kept":      {map[string]any{"a": "b"}, func(e fieldhistory.Entry) bool { return string(e.Changes[0].To) == `"b"` }},
		"hashes":    {fields, func(e fieldhistory.Entry) bool { return len(e.Changes) == 40 && e.Changes[0].ToHash != nil }},
		"truncated": {many, func(e fieldhistory.Entry) bool { return e.Truncated && len(e.Changes) == 0 }},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := fieldhistory.Bounds{Bytes: 32 << 10}.Encode(fieldhistory.Entry{Number: 1}, nil, test.after, fieldhistory.Options{})
			var entry fieldhistory.Entry
			if err != nil || len(text) > 8<<10 || json.Unmarshal(text, &entry) != nil || !test.want(entry) {
				t.Errorf("entry %.500s, %v", text, err)
			}
		})
	}
}
