package immutability_test

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/util/json"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/schema"
)

func FuzzCheck(f *testing.F) {
	f.Add(`{"properties":{"foo":{"x-kubernetes-immutable":true,"properties":{"s":{"x-kubernetes-list-type":"set"}}}}}`,
		`{"foo":{"s":[1,2],"x":{"a.b":null}}}`, `{"foo":{"s":[2,1.5],"x":{}}}`)
	f.Add(`{"properties":{"l":{"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["a","b"],
		"x-kubernetes-addition-only":true,"items":{"properties":{"x":{"x-kubernetes-immutable":true}}}}}}`,
		`{"l":[{"a":1,"x":1},{"a":1,"x":2},3]}`, `{"l":[{"a":1,"x":2},{"a":"1"}]}`)
	f.Add(`{"properties":{"m":{"x-kubernetes-immutable-keys":true,"patternProperties":{"^a":{"x-kubernetes-immutable":true},
		"b$":{"items":[{},{"x-kubernetes-immutable":true}]}}}}}`,
		`{"m":{"ab":[1,2],"a":1}}`, `{"m":{"ab":[1,3],"c":1}}`)
	f.Add(`{"properties":{"s":{"x-kubernetes-list-type":"set","x-kubernetes-deletion-only":true,
		"items":{"x-kubernetes-list-type":"set"}}}}`,
		`{"s":[[1,2],[]]}`, `{"s":[[2,1],[{}]]}`)
	f.Fuzz(func(t *testing.T, schemaText, oldText, newText string) {
		var value, oldObj, newObj map[string]any
		for text, target := range map[*string]*map[string]any{&schemaText: &value, &oldText: &oldObj, &newText: &newObj} {
			if json.Unmarshal([]byte(*text), target) != nil || *target == nil {
				t.Skip()
			}
		}
		s, _, err := schema.Decode(value)
		if err != nil || len(immutability.Validate(s)) > 0 {
			t.Skip()
		}
		judge(t, s, oldObj, newObj)
	})
}

// FuzzDefinition asserts that no function panics and that unchanged schemas have no
// findings.
func FuzzDefinition(f *testing.F) {
	f.Add(`{"x-kubernetes-immutable":true,"allOf":[{"x-kubernetes-addition-only":false}],
		"properties":{"metadata":{"x-kubernetes-immutable-keys":true}}}`,
		`self.x == oldSelf.x && oldSelf.m.all(k, k in self.m)`)
	f.Add(`{"properties":{"status":{"required":["x"],"properties":{"x":{"x-kubernetes-immutable":true}}}}}`,
		`has(self.x) ? self.?x == oldSelf.?x : sets.contains(self.y, oldSelf.y)`)
	f.Add(`{"patternProperties":{"(":{"x-kubernetes-immutable":true}}}`, `self[0][?'a'].value().b(`)
	f.Fuzz(func(t *testing.T, text, rule string) {
		var value map[string]any
		if json.Unmarshal([]byte(text), &value) != nil {
			t.Skip()
		}
		s, _, err := schema.Decode(value)
		if err != nil {
			t.Skip()
		}
		s.Validations = append(s.Validations, &schema.ValidationRule{Rule: rule})
		errors := immutability.Validate(s)
		if again := immutability.Validate(s); errors.Error() != again.Error() {
			t.Errorf("another answer: %v, %v", errors, again)
		}
		if found := immutability.ValidateV1beta1(s, s); len(found) > 0 {
			t.Errorf("what is there already may not stay: %v", found)
		}
		if found := immutability.Weakened(s, s); len(found) > 0 {
			t.Errorf("no change weakens: %v", found)
		}
		if found := immutability.Divergent([]immutability.Version{{Name: "a", Schema: s}, {Name: "b", Schema: s}}); len(found) > 0 {
			t.Errorf("one schema differs from itself: %v", found)
		}
		_ = fmt.Sprint(immutability.StatusTraps(s))
		_, _ = immutability.Compile(s)
	})
}

func FuzzDeclare(f *testing.F) {
	f.Add(`spec.containers[*].image`, `spec`, uint8(1))
	f.Add(`a["b.c"].*[*]`, `a[`, uint8(3))
	f.Fuzz(func(t *testing.T, one, two string, marker uint8) {
		policy, err := immutability.Declare([]immutability.Rule{
			{Path: one, Marker: immutability.Immutable},
			{Path: two, Marker: immutability.Marker(marker), Set: marker > 2},
		})
		if (policy == nil) == (err == nil) {
			t.Errorf("policy %v, error %v", policy, err)
		}
		obj := map[string]any{one: []any{two, nil}, two: map[string]any{one: two}}
		if found := policy.Check(obj, obj); len(found) > 0 {
			t.Errorf("check(o, o) = %v", lines(found))
		}
	})
}
