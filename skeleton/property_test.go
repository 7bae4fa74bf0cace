package skeleton_test

import (
	stdjson "encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"

	"holdfast.dev/holdfast/schema"
	"holdfast.dev/holdfast/skeleton"
)

// upstreamProps returns a schema in upstream's own types.
func upstreamProps(t testing.TB, in map[string]any) *apiextensions.JSONSchemaProps {
	t.Helper()
	data, err := stdjson.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	var v1 apiextensionsv1.JSONSchemaProps
	if err := stdjson.Unmarshal(data, &v1); err != nil {
		t.Fatal(err)
	}
	var out apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&v1, &out, nil); err != nil {
		t.Fatal(err)
	}
	return &out
}

// properties asserts the promises of the package for one generated schema. It returns how
// many of the values upstream's validator accepted.
func properties(t *testing.T, data []byte) (accepted int) {
	c := &chooser{data}
	in := anySchema(c, 4)
	in["type"] = "object"
	delete(in, "nullable")
	s := schemaOf(t, in)
	sk := skeleton.Build(s)

	shown := sk.Schema()
	again := skeleton.Build(shown).Schema()
	if diff := cmp.Diff(schema.Encode(shown), schema.Encode(again)); diff != "" {
		t.Errorf("skel(skel(s)) is not skel(s) (-once +twice):\n%s\nschema %s", diff, toJSON(t, in))
	}
	if size(t, shown) > size(t, s) {
		t.Errorf("the skeleton is larger than the schema: %s from %s", toJSON(t, shown), toJSON(t, in))
	}
	if diff := cmp.Diff(schema.Encode(shown), schema.Encode(skeleton.Build(schemaOf(t, in)).Schema())); diff != "" {
		t.Errorf("two runs give two skeletons:\n%s", diff)
	}

	acceptable := len(skeleton.Rules{}.Check(s)) == 0
	judge, _, err := validation.NewSchemaValidator(upstreamProps(t, in))
	if err != nil {
		t.Fatal(err)
	}
	for range 4 {
		obj := anyObject(c, 4)
		once := clone(t, obj)
		dropped := sk.PrunePaths(once)
		twice := clone(t, once)
		if more := sk.PrunePaths(twice); len(more) > 0 || !cmp.Equal(once, twice) {
			t.Errorf("pruned again: dropped %v\nobject %s\nschema %s", more, toJSON(t, obj), toJSON(t, in))
		}
		silent := clone(t, obj)
		sk.Prune(silent)
		if diff := cmp.Diff(once, silent); diff != "" {
			t.Errorf("asking for paths changed the result (dropped %v):\n%s", dropped, diff)
		}
		fittingProperties(t, sk, obj)
		fieldsProperties(t, sk, obj)
		if t.Failed() {
			t.Fatalf("schema %s", toJSON(t, in))
		}

		fitting := fittingObject(c, unfold([]*schema.Schema{s}), 4)
		if acceptable {
			kept := clone(t, fitting)
			sk.Prune(kept)
			if diff := cmp.Diff(fitting, kept); diff != "" {
				t.Errorf("a fully specified object changed (-before +after):\n%s\nschema %s", diff, toJSON(t, in))
			}
		}
		for _, v := range []map[string]any{obj, fitting} {
			if len(validation.ValidateCustomResource(nil, v, judge)) > 0 {
				continue
			}
			accepted++
			for _, wrong := range sk.Check(v) {
				// Upstream's type check accepts a list as a string with a format.
				if wrong.Want == "string" && wrong.Got == "array" {
					continue
				}
				t.Errorf("the schema accepts %s, the check does not: %v\nschema %s", toJSON(t, v), wrong, toJSON(t, in))
			}
		}
	}
	return accepted
}

// fittingProperties asserts that the result of Fitting has no wrong type, is a copy, and
// equals an object without wrong types.
func fittingProperties(t *testing.T, sk *skeleton.Skeleton, obj map[string]any) {
	before := clone(t, obj)
	fits := sk.Fitting(obj)
	if diff := cmp.Diff(before, obj); diff != "" {
		t.Errorf("the object itself was changed:\n%s", diff)
	}
	if wrong := sk.Check(fits); len(wrong) > 0 {
		t.Errorf("%s fits in %s, but %v", toJSON(t, fits), toJSON(t, obj), wrong)
	}
	if diff := cmp.Diff(obj, fits, cmpopts.EquateEmpty()); len(sk.Check(obj)) == 0 && diff != "" {
		t.Errorf("all of it has the right type, some is left out:\n%s", diff)
	}
}

// fieldsProperties asserts that pruning the set of all fields of an object gives the set
// of all fields of the pruned object.
func fieldsProperties(t *testing.T, sk *skeleton.Skeleton, obj map[string]any) {
	obj = withoutNulls(obj).(map[string]any)
	owned := allFields(obj)
	dropped := sk.PruneFields(owned)
	if lost := sk.Prune(obj); lost != dropped {
		// The set has lists as a whole, so only fields of objects can be dropped.
		if dropped {
			t.Errorf("fields were dropped, nothing of %s was", toJSON(t, obj))
		}
	}
	if diff := cmp.Diff(allFields(obj), owned); diff != "" {
		t.Errorf("the fields of the pruned object are not the pruned fields (-want +got):\n%s\nobject %s", diff, toJSON(t, obj))
	}
	if sk.PruneFields(owned) {
		t.Error("pruned fields were pruned again")
	}
}

// allFields returns the set of all fields of an object, with lists as a whole.
func allFields(obj map[string]any) map[string]any {
	set := map[string]any{}
	for name, value := range obj {
		below := map[string]any{}
		if object, isObject := value.(map[string]any); isObject && len(object) > 0 {
			below = allFields(object)
			below["."] = map[string]any{}
		}
		set["f:"+name] = below
	}
	return set
}

func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, x := range v {
			if x != nil {
				out[key] = withoutNulls(x)
			}
		}
		return out
	case []any:
		out := []any{}
		for _, x := range v {
			if x != nil {
				out = append(out, withoutNulls(x))
			}
		}
		return out
	}
	return v
}

func TestProperties(t *testing.T) {
	accepted, total := 0, 0
	for _, data := range inputs(1000) {
		accepted += properties(t, data)
		total += 8
		if t.Failed() {
			return
		}
	}
	// Upstream must accept some values, or the test compares nothing.
	if accepted*10 < total {
		t.Errorf("only %d of %d values are valid", accepted, total)
	}
}

func FuzzProperties(f *testing.F) {
	for _, data := range inputs(10) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) { properties(t, data) })
}
