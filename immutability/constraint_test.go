package immutability_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/api/validate"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/yamltest"
	"holdfast.dev/holdfast/schema"
)

// constrained returns the policy of a schema whose field a has a set of constraints.
func constrained(t *testing.T, shape string, names []string) *immutability.Policy {
	t.Helper()
	s, _, err := schema.Decode(yamltest.Value(t, fmt.Sprintf("properties: {a: {%s, x-kubernetes-update: [%s]}}", shape, strings.Join(names, ", "))))
	if err != nil {
		t.Fatal(err)
	}
	policy, err := immutability.Compile(s)
	if err != nil {
		t.Fatal(err)
	}
	return policy
}

// subsets returns every set of names that is not empty.
func subsets(names []string) (all [][]string) {
	for bits := 1; bits < 1<<len(names); bits++ {
		var set []string
		for i, name := range names {
			if bits&(1<<i) != 0 {
				set = append(set, name)
			}
		}
		all = append(all, set)
	}
	return all
}

// upstream returns the constraints of Kubernetes with the same names.
func upstream(names []string) []validate.UpdateConstraint {
	var all []validate.UpdateConstraint
	for _, name := range names {
		all = append(all, map[string]validate.UpdateConstraint{
			"NoSet": validate.NoSet, "NoUnset": validate.NoUnset, "NoModify": validate.NoModify,
			"NoAddItem": validate.NoAddItem, "NoRemoveItem": validate.NoRemoveItem,
		}[name])
	}
	return all
}

// asField returns an object with a value in field a, which nil leaves out.
func asField(v any) map[string]any {
	if v == nil {
		return map[string]any{}
	}
	return map[string]any{"a": v}
}

// Every set of constraints on a field gives the answers of Kubernetes' own validation of Go types. A set with NoSet, NoUnset and NoModify is
// Immutable, which tells absent and empty apart, so it is left out where that matters.
func TestConstraintsAreThoseOfKubernetes(t *testing.T) {
	ctx, update, path := t.Context(), operation.Operation{Type: operation.Update}, field.NewPath("a")
	agree := func(t *testing.T, names []string, was, is any, errs field.ErrorList, shape string) {
		t.Helper()
		found := constrained(t, shape, names).Check(asField(was), asField(is))
		if (len(found) > 0) != (len(errs) > 0) {
			t.Errorf("%v, %v to %v: refused %v, Kubernetes %v", names, was, is, lines(found), errs)
		}
	}
	texts := []*string{nil, new("x"), new("y")}
	value := func(p *string) any {
		if p == nil {
			return nil
		}
		return *p
	}
	for _, names := range subsets([]string{"NoSet", "NoUnset", "NoModify"}) {
		for _, was := range texts {
			for _, is := range texts {
				var errs field.ErrorList
				if was != is { // Kubernetes calls the function only for a value that has changed
					errs = validate.UpdatePointer(ctx, update, path, is, was, upstream(names)...)
				}
				agree(t, names, value(was), value(is), errs, "type: string")
			}
		}
	}
	maps := []map[string]string{nil, {}, {"k": "1"}, {"k": "2"}, {"k": "1", "l": "1"}, {"l": "1"}}
	sets := [][]string{nil, {}, {"k"}, {"k", "l"}, {"l", "k"}, {"l"}}
	for _, names := range subsets([]string{"NoSet", "NoUnset", "NoAddItem", "NoRemoveItem"}) {
		for _, was := range maps {
			for _, is := range maps {
				agree(t, names, asValue(was), asValue(is), validate.UpdateMap(ctx, update, path, is, was, upstream(names)...),
					"type: object, additionalProperties: {type: string}")
			}
		}
		if slices.Contains(names, "NoAddItem") && slices.Contains(names, "NoRemoveItem") {
			continue // a set with both is refused, see TestValidate
		}
		for _, was := range sets {
			for _, is := range sets {
				errs := validate.ValSliceUpdate(ctx, update, path, is, was, func(a, b *string) bool { return *a == *b }, upstream(names)...)
				agree(t, names, asList(was), asList(is), errs, "type: array, items: {type: string}, x-kubernetes-list-type: set")
			}
		}
	}
}

func asValue(m map[string]string) any {
	if m == nil {
		return nil
	}
	out := map[string]any{}
	for key, v := range m {
		out[key] = v
	}
	return out
}

func asList(list []string) any {
	if list == nil {
		return nil
	}
	out := []any{}
	for _, v := range list {
		out = append(out, v)
	}
	return out
}

// A set with a name has the words of spec and schema for it, and the words are read back.
func TestMarkerWords(t *testing.T) {
	for _, names := range subsets([]string{"NoSet", "NoUnset", "NoModify", "NoAddItem", "NoRemoveItem"}) {
		word := "update=" + strings.Join(names, ",")
		m, err := immutability.ParseWord(word)
		if err != nil {
			t.Fatalf("%s: %v", word, err)
		}
		if again, err := immutability.ParseWord(m.Word()); err != nil || again != m {
			t.Errorf("%s: %s is read as %v, %v", word, m.Word(), again, err)
		}
	}
	for word, want := range map[string]string{
		"set-once": "update=NoUnset,NoModify", "immutable": "update=NoModify,NoSet,NoUnset", "no-set": "update=NoSet", "no-unset": "update=NoUnset",
		"no-modify": "update=NoModify", "immutable-keys": "update=NoAddItem,NoRemoveItem", "addition-only": "update=NoRemoveItem",
		"deletion-only": "update=NoAddItem",
	} {
		m, _ := immutability.ParseWord(want)
		if m.Word() != word {
			t.Errorf("%s is %s, want %s", want, m.Word(), word)
		}
	}
}

// Every refusal has the words that clients look for, and the words of its rule.
func TestMessages(t *testing.T) {
	text := `properties:
  size: {type: string, x-kubernetes-immutable: true}
  zone: {type: string, x-kubernetes-update: [NoUnset, NoModify]}
  note: {type: string, x-kubernetes-update: [NoSet]}
  team: {type: object, additionalProperties: {type: string}, x-kubernetes-addition-only: true}
  port: {type: integer}`
	s, _, err := schema.Decode(yamltest.Value(t, text))
	if err != nil {
		t.Fatal(err)
	}
	marks, err := immutability.ParseMarks(`no-modify port while oldSelf.phase == "Ready"`)
	if err != nil {
		t.Fatal(err)
	}
	marked := immutability.AddMarks(s, "v1", marks)
	policy, err := immutability.Compile(marked.Schema, marked.Layers...)
	if err != nil {
		t.Fatal(err)
	}
	oldObj := map[string]any{"size": "L", "zone": "a", "team": map[string]any{"x": "y"}, "port": int64(80)}
	newObj := map[string]any{"size": "M", "note": "n", "port": int64(81)}
	want := []string{
		`note: field is immutable: no-set: added "n"`,
		`size: field is immutable: changed from "L" to "M"`,
		`team.x: field is immutable: addition only: removed "y"`,
		`zone: field is immutable once set: removed "a"`,
		`port: field is immutable: no-modify while oldSelf.phase == "Ready": changed from 80 to 81`,
	}
	if diff := cmp.Diff(want, lines(policy.Check(oldObj, newObj))); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
}
