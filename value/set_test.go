package value_test

import (
	"strings"
	"testing"

	"holdfast.dev/holdfast/value"
)

// setShape is the shape of sets inside of sets.
type setShape struct{}

func (setShape) Field(string) value.Shape { return setShape{} }
func (setShape) Item(int) value.Shape     { return setShape{} }
func (setShape) Traits() value.Traits     { return value.Traits{Set: true} }

// fieldShape ignores the field "ignored" and compares "name" without case.
type fieldShape struct{ name string }

func (fieldShape) Field(name string) value.Shape { return fieldShape{name} }
func (s fieldShape) Item(int) value.Shape        { return s }
func (s fieldShape) Traits() value.Traits {
	traits := value.Traits{Ignored: s.name == "ignored"}
	if s.name == "name" {
		traits.Canonical = func(v any) any {
			text, _ := v.(string)
			return strings.ToLower(text)
		}
	}
	return traits
}

func TestEqualByShape(t *testing.T) {
	for name, test := range map[string]struct {
		shape value.Shape
		a, b  any
		want  bool
	}{
		"set in another order":        {setShape{}, list{"a", "b"}, list{"b", "a"}, true},
		"set with another item":       {setShape{}, list{"a", "b"}, list{"a", "c"}, false},
		"set with an item twice":      {setShape{}, list{"a", "a", "b"}, list{"a", "b", "b"}, false},
		"set of numbers":              {setShape{}, list{int64(1), 2.0}, list{int64(2), 1.0}, true},
		"set of close numbers":        {setShape{}, list{int64(1<<53 + 1), "a"}, list{"a", float64(1 << 53)}, false},
		"set and longer set":          {setShape{}, list{"a"}, list{"a", "a"}, false},
		"set in a set":                {setShape{}, list{list{"a", "b"}, "c"}, list{"c", list{"b", "a"}}, true},
		"set in an object in a set":   {setShape{}, list{object{"x": list{"a", "b"}}, "c"}, list{"c", object{"x": list{"b", "a"}}}, true},
		"ignored field":               {fieldShape{}, object{"ignored": "a", "x": "a"}, object{"ignored": "b", "x": "a"}, true},
		"ignored field on one side":   {fieldShape{}, object{"ignored": "a", "x": "a"}, object{"x": "a"}, true},
		"field beside an ignored one": {fieldShape{}, object{"ignored": "a", "x": "a"}, object{"x": "b"}, false},
		"canonical form":              {fieldShape{}, object{"name": "A"}, object{"name": "a"}, true},
		"other canonical form":        {fieldShape{}, object{"name": "A"}, object{"name": "b"}, false},
		"canonical form of absent":    {fieldShape{}, object{"name": ""}, object{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			for modeName, mode := range modes() {
				c := value.NewComparison(mode)
				if got := c.Equal(test.shape, test.a, test.b); got != test.want {
					t.Errorf("%s: Equal is %v, want %v", modeName, got, test.want)
				}
				if got := c.Equal(test.shape, test.b, test.a); got != test.want {
					t.Errorf("%s: with the sides exchanged Equal is %v, want %v", modeName, got, test.want)
				}
				sameHash := c.Hash(test.shape, test.a) == c.Hash(test.shape, test.b)
				if sameHash != test.want {
					t.Errorf("%s: the hashes are equal: %v, want %v", modeName, sameHash, test.want)
				}
				hasher := c.NewHasher()
				if a, ok := test.a.(list); ok && len(a) > 0 {
					hasher.Items(test.shape, a)
					if again := hasher.Items(test.shape, a); len(again) != len(a) {
						t.Errorf("%s: %d hashes of %d items", modeName, len(again), len(a))
					}
				}
			}
		})
	}
}

// A func is not equal to any value, not even to itself. If Equal read the shared
// values, it would find that they differ.
func TestEqualDoesNotReadSharedValues(t *testing.T) {
	shared, sharedList := object{"x": func() {}}, list{func() {}}
	if !value.Strict.Equal(object{"a": shared, "b": sharedList}, object{"a": shared, "b": sharedList}) {
		t.Error("maps and lists that both sides share were read")
	}
	if value.Strict.Equal(shared, object{"x": func() {}}) {
		t.Error("functions are equal")
	}
}

func TestPairKeys(t *testing.T) {
	c := value.NewComparison(value.Strict)
	oldList := list{
		object{"k": int64(1), "n": "a"},
		object{"k": "1"},
		object{"k": int64(2), "n": "b"},
		object{"k": int64(2), "n": "c"},
		object{},
		"scalar",
	}
	newList := list{
		object{"k": 2.0, "n": "d"}, object{"k": 1.0}, object{"k": int64(2), "n": "e"}, object{"other": "x"}, object{"k": int64(3)},
	}
	pairs := c.PairKeys([]string{"k"}, oldList, newList)
	for i, want := range []int{1, -1, 0, 2, 3, -1} {
		if got := pairs.Partner(i); got != want {
			t.Errorf("the partner of item %d is %d, want %d", i, got, want)
		}
	}
	for j, want := range []bool{false, false, false, false, true} {
		if got := pairs.IsNew(j); got != want {
			t.Errorf("item %d is new: %v, want %v", j, got, want)
		}
	}
	if pairs.Complete() || pairs.InOrder() != 0 {
		t.Errorf("complete: %v, in order: %d", pairs.Complete(), pairs.InOrder())
	}
}
