package fieldset

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/apiserver/custom/text"
	"holdfast.dev/holdfast/internal/yamltest"
	"holdfast.dev/holdfast/value"
)

// owned returns an object whose managed fields have one set.
func owned(t *testing.T, fields string) map[string]any {
	t.Helper()
	return yamltest.Map(t, fmt.Sprintf(`{"metadata":{"managedFields":[{"manager":"m","operation":"Update","fieldsV1":%s}]}}`, fields))
}

func setOf(t *testing.T, obj map[string]any) map[string]any {
	t.Helper()
	fields, ok := Entries(obj)[0]["fieldsV1"].(map[string]any)
	if !ok {
		t.Fatalf("no set in %v", obj)
	}
	return fields
}

func TestFieldSetsAreShared(t *testing.T) {
	t.Parallel()
	sets, format := newSets()
	first, second := owned(t, `{"f:spec":{"f:b":{},"f:a":{}}}`), owned(t, `{"f:spec": {"f:a": {}, "f:b": {}}}`)
	other, odd := owned(t, `{"f:spec":{"f:a":{}}}`), owned(t, `{"f:spec":1}`)
	for _, obj := range []map[string]any{first, second, other, odd} {
		sets.Share(obj)
	}
	if !value.SameObject(setOf(t, first), setOf(t, second)) || value.SameObject(setOf(t, first), setOf(t, other)) {
		t.Error("equal sets are not shared, or different ones are")
	}
	const want = `{"f:spec":{"f:a":{},"f:b":{}}}`
	if got := string(sets.TextOf(setOf(t, first))); got != want {
		t.Errorf("text %s, want %s", got, want)
	}
	if sets.TextOf(setOf(t, odd)) != nil {
		t.Error("a set with other values than objects is cached")
	}
	for _, obj := range []map[string]any{first, other, odd} {
		library, err := json.Marshal(obj)
		if err != nil {
			t.Fatal(err)
		}
		got, err := format.Append(nil, obj)
		if diff := cmp.Diff(string(library), string(got)); diff != "" || err != nil {
			t.Errorf("-encoding/json +got, %v:\n%s", err, diff)
		}
	}
	for _, text := range []string{want, `{"f:spec":{"f:b":{}, "f:a":{}}}`} {
		decoded, err := sets.Decode([]byte(text))
		if err != nil || !value.SameObject(setOf(t, first), decoded) {
			t.Errorf("the set with the text %s is not shared: %v", text, err)
		}
	}
}

func TestFieldSetsStayWithinTheirBound(t *testing.T) {
	t.Parallel()
	sets, _ := newSets()
	long := strings.Repeat("x", largest/2)
	size := 0
	for i := range 3 * limit / len(long) {
		sets.Share(owned(t, fmt.Sprintf(`{"f:%d%s":{}}`, i, long)))
		size = 0
		for _, text := range sets.bySet {
			size += len(text)
		}
		if size > limit {
			t.Fatalf("%d sets have %d bytes, at most %d are allowed", len(sets.bySet), size, limit)
		}
	}
	for _, text := range sets.bySet {
		if sets.Find(text) == nil {
			t.Error("a set is in memory, and has no text")
		}
	}
	if size < limit-largest {
		t.Errorf("%d bytes of sets are kept of many, %d are allowed", size, limit)
	}
	large := owned(t, fmt.Sprintf(`{"f:%s%s":{}}`, long, long))
	if sets.Share(large); sets.TextOf(setOf(t, large)) != nil {
		t.Error("a set larger than the largest is cached")
	}
}

// TestFormsAgree compares the format that takes sets from the cache with the library, on random objects. Most sets must come from the
// cache.
func TestFormsAgree(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 1))
	sets, format := newSets()
	var fields func(levels int) map[string]any
	fields = func(levels int) map[string]any {
		out := map[string]any{}
		for range r.IntN(3) {
			key := []string{"f:a", "f:b", `k:{"name":"<é>"}`, ".", `v:"\\"`, "i:0"}[r.IntN(6)]
			out[key] = map[string]any{}
			if levels > 0 {
				out[key] = fields(levels - 1)
			}
		}
		return out
	}
	const objects = 1000
	found := 0
	for i := range objects {
		entries := []any{"no entry", map[string]any{"manager": "m"}, map[string]any{"manager": "m", "fieldsV1": fields(2)}}
		obj := map[string]any{"metadata": map[string]any{"name": fmt.Sprint(i), "managedFields": entries}, "spec": map[string]any{"fieldsV1": fields(1)}}
		data, err := text.Library{}.Append(nil, obj)
		if err != nil {
			t.Fatal(err)
		}
		want, wantErr := text.Library{}.Decode(data)
		got, gotErr := format.Decode(data)
		if diff := cmp.Diff(want, got); diff != "" || wantErr != nil || gotErr != nil {
			t.Fatalf("%v, %v (-library +got):\n%s", wantErr, gotErr, diff)
		}
		if set, ok := Entries(got)[2]["fieldsV1"].(map[string]any); ok && sets.TextOf(set) != nil {
			found++
		}
		sets.Share(got)
		again, err := format.Append(nil, got)
		if diff := cmp.Diff(string(data), string(again)); diff != "" || err != nil {
			t.Fatalf("%v (-library +got):\n%s", err, diff)
		}
	}
	if found < objects/2 {
		t.Errorf("%d of %d sets came from the cache", found, objects)
	}
}

// TestWrongSet corrupts the cache. A wrong set is decoded only from its own text, and a wrong text is written only for its own map. So
// no code may change a kept set or its text.
func TestWrongSet(t *testing.T) {
	t.Parallel()
	sets, format := newSets()
	decode := func(fields string) map[string]any {
		t.Helper()
		obj, err := format.Decode(fmt.Appendf(nil, `{"metadata":{"managedFields":[{"fieldsV1":%s}]}}`, fields))
		if err != nil {
			t.Fatal(err)
		}
		return setOf(t, obj)
	}
	wrong := map[string]any{"f:wrong": map[string]any{}}
	add := func(key, text string) {
		sets.byText.Add(maphash.String(sets.seed, key), set{fields: wrong, text: []byte(text)}, len(text))
	}
	add(`{"f:a":{}}`, `{"f:a":{}}`)
	add(`{"f:b":{}}`, `{"f:a":{}}`) // as if both texts had the same hash
	for text, want := range map[string]map[string]any{
		`{"f:a":{}}`:         wrong,
		`{"f:a": {}}`:        {"f:a": map[string]any{}},
		`{"f:b":{}}`:         {"f:b": map[string]any{}},
		`{"f:a":{"f:b":{}}}`: {"f:a": map[string]any{"f:b": map[string]any{}}},
	} {
		if got := decode(text); !reflect.DeepEqual(got, want) {
			t.Errorf("%s is decoded to %v, want %v", text, got, want)
		}
	}

	kept, equal := map[string]any{"f:c": map[string]any{}}, map[string]any{"f:c": map[string]any{}}
	if _, ok := sets.Equal(kept); !ok {
		t.Fatal("the set is not kept")
	}
	sets.bySet[pointerTo(kept)] = []byte(`"wrong"`)
	for _, written := range []struct {
		fields map[string]any
		want   string
	}{{kept, `{"fieldsV1":"wrong"}`}, {equal, `{"fieldsV1":{"f:c":{}}}`}} {
		if got, err := format.Append(nil, map[string]any{"fieldsV1": written.fields}); err != nil || string(got) != written.want {
			t.Errorf("%s, %v, want %s", got, err, written.want)
		}
	}
}

// A nil *Sets keeps nothing.
func TestPlain(t *testing.T) {
	t.Parallel()
	var sets *Sets
	obj := owned(t, `{"f:a":{}}`)
	sets.Share(obj)
	if _, ok := sets.Equal(setOf(t, obj)); ok || sets.TextOf(setOf(t, obj)) != nil {
		t.Error("a set is kept")
	}
	if diff := cmp.Diff(owned(t, `{"f:a":{}}`), obj); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
