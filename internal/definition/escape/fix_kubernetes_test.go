package escape_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	apiservervalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/definition/escape"
	"holdfast.dev/holdfast/internal/yamltest"
	"holdfast.dev/holdfast/value"
)

// Kubernetes accepts the rules of a fix, also their cost, and they refuse one of the two writes of every escape. Without
// the fix it allows both.
func TestRulesOnKubernetes(t *testing.T) {
	judged := map[escape.Hole]int{}
	for seed := range uint64(60) {
		g := generator{rand.New(rand.NewPCG(seed, 2))}
		object := g.root(true)
		before := newKubernetes(t, object)
		for _, e := range escape.Find(decoded(t, object)) {
			fix := e.Fixes().Rules
			if len(fix) == 0 {
				continue
			}
			judged[e.Hole]++
			w := writesOf(t, object, e)
			if problem := before.refuses(t, w.first, w.second) + before.refuses(t, w.second, w.third); problem != "" {
				t.Fatalf("seed %d: no escape: %s: %s\n%s", seed, e, problem, text(object))
			}
			fixed := applied(t, object, fix)
			after := newKubernetes(t, fixed)
			if problem := after.refuses(t, w.first, w.first); problem != "" {
				t.Fatalf("seed %d: an update without a change is refused: %s\n%s", seed, problem, text(fixed))
			}
			if after.refuses(t, w.first, w.second)+after.refuses(t, w.second, w.third) == "" {
				t.Fatalf("seed %d: the fix %s leaves it open: %s\n%s", seed, fix, e, text(fixed))
			}
		}
	}
	for _, hole := range []escape.Hole{escape.OptionalField, escape.NullableField, escape.MapKey, escape.ListItem} {
		if judged[hole] < 10 {
			t.Errorf("only %d escapes of the kind %d", judged[hole], hole)
		}
	}
}

// Kubernetes accepts the cost of the rules of a fix also in schemas without limits.
func TestCostOfRules(t *testing.T) {
	judged := 0
	for seed := range uint64(60) {
		g := generator{rand.New(rand.NewPCG(seed, 4))}
		object := g.root(true)
		removeLimits(object)
		if _, refused := validated(t, object); refused != nil {
			continue // its own rules are too expensive
		}
		for _, e := range escape.Find(decoded(t, object)) {
			if fix := e.Fixes().Rules; len(fix) > 0 {
				judged++
				newKubernetes(t, applied(t, object, fix))
			}
		}
	}
	if judged < 20 {
		t.Errorf("only %d fixes", judged)
	}
	// A rule on a map in a map would be too expensive.
	inMap := yamltest.Map(t, "{type: object, properties: {m: {type: object, additionalProperties: {type: object, properties: {n: {type: object, "+
		"additionalProperties: {type: string, x-kubernetes-immutable: true}}}}}}}")
	for _, e := range escape.Find(decoded(t, inMap)) {
		if fix := e.Fixes().Rules; len(fix) > 0 {
			newKubernetes(t, applied(t, inMap, fix))
		}
	}
}

// removeLimits removes all limits of a schema.
func removeLimits(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, limit := range []string{"maxLength", "maxItems", "maxProperties"} {
			delete(v, limit)
		}
		for _, child := range v {
			removeLimits(child)
		}
	case []any:
		for _, child := range v {
			removeLimits(child)
		}
	}
}

// The rules of the server refuse one of the two writes after a fix with markers.
func TestMarkersOnTheServer(t *testing.T) {
	judged := 0
	for seed := range uint64(150) {
		g := generator{rand.New(rand.NewPCG(seed, 3))}
		object := g.root(false)
		for _, e := range escape.Find(decoded(t, object)) {
			fix := e.Fixes().Marked
			if e.Rule != "" || len(fix) == 0 || hasKind(fix, escape.SetType) {
				continue
			}
			judged++
			w := writesOf(t, object, e)
			if found := violations(t, object, w); found != "" {
				t.Fatalf("seed %d: no escape: %s: %s\n%s", seed, e, found, text(object))
			}
			if fixed := applied(t, object, fix); violations(t, fixed, w) == "" {
				t.Fatalf("seed %d: the fix %s leaves it open: %s\n%s", seed, fix, e, text(fixed))
			}
		}
	}
	if judged < 100 {
		t.Errorf("only %d escapes", judged)
	}
}

func hasKind(fix escape.Fix, kind escape.StepKind) bool {
	for _, step := range fix {
		if step.Kind == kind {
			return true
		}
	}
	return false
}

// violations returns what the server has against the two writes.
func violations(t testing.TB, object map[string]any, w writes) string {
	t.Helper()
	policy, err := immutability.Compile(decoded(t, object))
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, v := range append(policy.Check(w.first, w.second), policy.Check(w.second, w.third)...) {
		text += fmt.Sprintf("%+v\n", v)
	}
	return text
}

// writes are the states of an object in an escape: the first two updates lead from one to the next.
type writes struct{ first, second, third map[string]any }

// writesOf returns the two writes of an escape, on an object with all fields.
func writesOf(t testing.TB, object map[string]any, e escape.Escape) writes {
	t.Helper()
	first, _ := instance(object).(map[string]any)
	second, third := runtime.DeepCopyJSON(first), runtime.DeepCopyJSON(first)
	edit(third, e.Field, func(holder map[string]any, name string) { holder[name] = "b" })
	edit(second, e.Parent, func(holder map[string]any, name string) {
		switch {
		case e.Hole == escape.NullableField:
			holder[name] = nil
		case e.Hole == escape.UntypedField:
			holder[name] = "other"
		case e.Hole == escape.MapKey || e.Hole == escape.EmptyField:
			holder[name] = map[string]any{}
		case e.Hole == escape.ListItem:
			holder[name] = []any{}
		default:
			delete(holder, name)
		}
	})
	return writes{first, second, third}
}

// instance returns a value of a schema with all fields.
func instance(node map[string]any) any {
	if items, ok := node["items"].(map[string]any); ok {
		return []any{instance(items)}
	}
	if values, ok := node["additionalProperties"].(map[string]any); ok {
		return map[string]any{"k": instance(values)}
	}
	if properties, ok := node["properties"].(map[string]any); ok {
		object := map[string]any{}
		for name, property := range properties {
			object[name] = instance(property.(map[string]any))
		}
		return object
	}
	return "a"
}

// edit changes the value at a path of the schema, in an object of [instance].
func edit(object map[string]any, path *value.Path, change func(holder map[string]any, name string)) {
	var at any = object
	var holder map[string]any
	name := ""
	steps := path.Steps()
	for i := 0; i < len(steps); i++ {
		if steps[i].Name == "items" {
			at = at.([]any)[0]
			continue
		}
		holder, _ = at.(map[string]any)
		if name = "k"; steps[i].Name == "properties" {
			i++
			name = steps[i].Name
		}
		at = holder[name]
	}
	change(holder, name)
}

// kubernetes validates custom resources as Kubernetes does.
type kubernetes struct {
	structural *structuralschema.Structural
	rules      *cel.Validator
	schema     apiservervalidation.SchemaValidator
}

// newKubernetes validates a definition with a schema, with the cost of its rules, and compiles it.
func newKubernetes(t testing.TB, object map[string]any) kubernetes {
	t.Helper()
	internal, refused := validated(t, object)
	if refused != nil {
		t.Fatalf("Kubernetes refuses the definition: %v\n%s", refused, text(object))
	}
	version, err := apiextensions.GetSchemaForVersion(internal, "v1")
	if err != nil {
		t.Fatal(err)
	}
	structural, err := structuralschema.NewStructural(version.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	validator, _, err := apiservervalidation.NewSchemaValidator(version.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	return kubernetes{structural, cel.NewValidator(structural, true, celconfig.PerCallLimit), validator}
}

// validated returns a definition with a schema, and why Kubernetes refuses it.
func validated(t testing.TB, object map[string]any) (*apiextensions.CustomResourceDefinition, error) {
	t.Helper()
	data, err := json.Marshal(map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "widgets.example.com"},
		"spec": map[string]any{
			"group": "example.com", "scope": "Namespaced", "names": map[string]any{"plural": "widgets", "kind": "Widget"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": object}}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	install.Install(scheme)
	var typed apiextensionsv1.CustomResourceDefinition
	if err := json.Unmarshal(data, &typed); err != nil {
		t.Fatal(err)
	}
	scheme.Default(&typed)
	typed.Status.StoredVersions = []string{"v1"}
	var internal apiextensions.CustomResourceDefinition
	if err := scheme.Convert(&typed, &internal, nil); err != nil {
		t.Fatal(err)
	}
	return &internal, validation.ValidateCustomResourceDefinition(t.Context(), &internal).ToAggregate()
}

// refuses returns why Kubernetes refuses an update, empty if it accepts it.
func (k kubernetes) refuses(t testing.TB, oldObj, newObj map[string]any) string {
	t.Helper()
	errs := apiservervalidation.ValidateCustomResource(nil, newObj, k.schema)
	if len(errs) == 0 {
		errs, _ = k.rules.Validate(t.Context(), nil, k.structural, newObj, oldObj, celconfig.RuntimeCELCostBudget)
	}
	if len(errs) == 0 {
		return ""
	}
	return errs.ToAggregate().Error()
}

// Kubernetes accepts the rules of a fix for lists and maps of all types and sizes, also their cost, and they refuse one of the two writes that
// replace an item. Where none is printed, Kubernetes would refuse them.
func TestRulesOfLists(t *testing.T) {
	const marked = "x-kubernetes-immutable: true"
	const text, atomic = "[p]; [q]", "type: array, items: {type: string, " + marked + "}"
	const set = "type: array, x-kubernetes-list-type: set, maxItems: LIMIT, items: {type: string, " + marked + "}"
	const keyed = "type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], maxItems: LIMIT, items: {type: object, required: [k], " +
		"properties: {k: KEY, v: {type: string, " + marked + "}}}"
	short, long := "{type: string, maxLength: 64}", "{type: string}"
	with := func(text, limit, key string) string {
		return strings.NewReplacer("LIMIT", limit, "KEY", key).Replace(text)
	}
	const objects = "[{k: p, v: p}]; [{k: p, v: q}]"
	for name, test := range map[string]struct {
		list, states string
		// in is the number of keys of the map that has the list as its value, none if it is empty.
		in string
		// none means that no rule is printed.
		none bool
	}{
		"atomic":                              {list: atomic, states: text},
		"atomic, with a limit":                {list: "type: array, maxItems: 5, items: {type: string, maxLength: 5, " + marked + "}", states: text},
		"atomic objects":                      {list: "type: array, items: {type: object, properties: {v: {type: string, " + marked + "}}}", states: "[{v: p}]; [{v: q}]"},
		"atomic, in words":                    {list: "x-kubernetes-list-type: atomic, " + atomic, states: text},
		"atomic, in a map":                    {list: atomic, states: text, in: "20"},
		"atomic, in a large map":              {list: atomic, in: "100", none: true},
		"short texts, in a large map":         {list: "type: array, maxItems: 5, items: {type: string, maxLength: 5, " + marked + "}", states: text, in: "100"},
		"set without a limit":                 {list: strings.Replace(set, "maxItems: LIMIT, ", "", 1), none: true},
		"set":                                 {list: with(set, "5", ""), states: text},
		"large set":                           {list: with(set, "1000", ""), states: text},
		"large set, in a map":                 {list: with(set, "1000", ""), in: "100", none: true},
		"very large set":                      {list: with(set, "10000", ""), none: true},
		"keyed":                               {list: with(keyed, "100", short), states: objects},
		"keyed, in a map":                     {list: with(keyed, "100", short), states: objects, in: "5"},
		"keyed, in a large map":               {list: with(keyed, "100", short), in: "100", none: true},
		"keyed, large":                        {list: with(keyed, "1000", short), none: true},
		"keyed by long texts":                 {list: with(keyed, "5", long), states: objects},
		"many keyed by long texts":            {list: with(keyed, "100", long), none: true},
		"keyed by numbers":                    {list: with(keyed, "500", "{type: integer}"), states: "[{k: 1, v: p}]; [{k: 1, v: q}]"},
		"map of texts":                        {list: "type: object, additionalProperties: {type: string, " + marked + "}", states: "{k: p}; {k: q}"},
		"map without a limit, in a large map": {list: "type: object, additionalProperties: {type: string, " + marked + "}", in: "100", none: true},
		"map of texts, in a map":              {list: "type: object, maxProperties: 100, additionalProperties: {type: string, " + marked + "}", states: "{k: p}; {k: q}", in: "100"},
	} {
		holder, format := "{l: {"+test.list+"}}", "{spec: {l: %s}}"
		if test.in != "" {
			holder = "{m: {type: object, maxProperties: " + test.in + ", additionalProperties: {type: object, properties: " + holder + "}}}"
			format = "{spec: {m: {x: {l: %s}}}}"
		}
		object := yamltest.Map(t, "{type: object, required: [spec], properties: {spec: {type: object, properties: "+holder+"}}}")
		printed := 0
		for _, e := range escape.Find(decoded(t, object)) {
			fix := e.Fixes().Rules
			if len(fix) == 0 {
				continue
			}
			printed++
			fixed := applied(t, object, fix)
			if _, refused := validated(t, fixed); refused != nil {
				t.Errorf("%s: Kubernetes refuses the fix %s: %v", name, fix, refused)
				continue
			}
			states := strings.Split(test.states, "; ")
			state := func(list string) map[string]any { return yamltest.Map(t, fmt.Sprintf(format, list)) }
			before, after := state(states[0]), state(states[len(states)-1])
			judge := newKubernetes(t, fixed)
			if problem := judge.refuses(t, before, before); problem != "" {
				t.Errorf("%s: an update without a change is refused: %s", name, problem)
			}
			for _, between := range []map[string]any{state(states[0][:1] + states[0][len(states[0])-1:]), yamltest.Map(t, "{spec: {}}")} {
				if judge.refuses(t, before, between)+judge.refuses(t, between, after) == "" {
					t.Errorf("%s: the fix %s leaves it open by %v", name, fix, between)
				}
			}
		}
		if (printed == 0) != test.none {
			t.Errorf("%s: %d fixes", name, printed)
		}
	}
}
