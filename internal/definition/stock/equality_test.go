package stock_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kube-openapi/pkg/validation/strfmt"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/definition/refusal"
	"holdfast.dev/holdfast/internal/definition/stock"
	"holdfast.dev/holdfast/internal/manifest"
	"holdfast.dev/holdfast/internal/while"
	"holdfast.dev/holdfast/schema"
)

// exception is a difference between the compiled rules and package immutability that is known. It
// changes a value to the one that CEL sees: the rules must decide about the original objects as
// package immutability decides about the changed ones.
type exception struct {
	name    string
	targets []stock.Target
	see     func(s map[string]any, v any) any
	used    int
}

// exceptions returns the known differences. docs/schema.md lists them for users.
func exceptions() []*exception {
	rules := []stock.Target{stock.CEL}
	return []*exception{
		{name: "in an object, null is absent", targets: rules, see: withoutNulls},
		{name: "times, dates, durations and bytes are equal if their values are", targets: rules, see: withoutFormats},
		{name: "numbers of type number are floating-point numbers", targets: rules, see: withFloats},
	}
}

func withoutNulls(s map[string]any, v any) any {
	object, ok := v.(map[string]any)
	if !ok || s["properties"] == nil {
		return v
	}
	for key, value := range object {
		if value == nil {
			delete(object, key)
		}
	}
	return object
}

func withoutFormats(s map[string]any, v any) any {
	text, ok := v.(string)
	if !ok {
		return v
	}
	switch s["format"] {
	case "date-time":
		if at, err := strfmt.ParseDateTime(text); err == nil {
			return time.Time(at).UTC().String()
		}
	case "duration":
		if d, err := strfmt.ParseDuration(text); err == nil {
			return d.String()
		}
	}
	return v
}

func withFloats(s map[string]any, v any) any {
	if i, ok := v.(int64); ok && s["type"] == "number" {
		return float64(i)
	}
	return v
}

// transform returns a copy of a value in which every value was replaced, innermost first.
func transform(s map[string]any, v any, replace func(s map[string]any, v any) any) any {
	child := func(s any) map[string]any {
		m, _ := s.(map[string]any)
		return m
	}
	switch typed := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, value := range typed {
			below := child(child(s["properties"])[key])
			if below == nil {
				below = child(s["additionalProperties"])
			}
			out[key] = transform(below, value, replace)
		}
		v = out
	case []any:
		out := make([]any, len(typed))
		for i, item := range typed {
			out[i] = transform(child(s["items"]), item, replace)
		}
		v = out
	}
	return replace(s, v)
}

// markerKeywords are the keywords of markers.
var markerKeywords = []string{
	"x-kubernetes-immutable", "x-kubernetes-immutable-keys", "x-kubernetes-addition-only", "x-kubernetes-deletion-only", "x-kubernetes-update",
}

// withParents adds empty objects for absent parents of the only field with a marker. With closed escapes,
// the compiled rule for the field decides about the objects as package immutability decides about those.
func withParents(s map[string]any, v any) any {
	if isMarked(s) {
		return v
	}
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = withParents(s["items"].(map[string]any), v[i])
		}
	case map[string]any:
		properties, _ := s["properties"].(map[string]any)
		for name, property := range properties {
			below := property.(map[string]any)
			if v[name] == nil && below["properties"] != nil && !isMarked(below) && hasMarkers(below) {
				v[name] = map[string]any{}
			}
			if value, ok := v[name]; ok {
				v[name] = withParents(below, value)
			}
		}
		if values, ok := s["additionalProperties"].(map[string]any); ok {
			for key := range v {
				v[key] = withParents(values, v[key])
			}
		}
	}
	return v
}

func isMarked(s map[string]any) bool {
	return slices.ContainsFunc(markerKeywords, func(name string) bool { return s[name] != nil })
}

func hasMarkers(s any) bool {
	switch s := s.(type) {
	case map[string]any:
		if isMarked(s) {
			return true
		}
		for _, value := range s {
			if hasMarkers(value) {
				return true
			}
		}
	}
	return false
}

// oneRule is a rule of a definition, judged by itself.
type oneRule struct {
	root   map[string]any
	policy *immutability.Policy
	mark   *immutability.Mark
}

// single returns a rule that is judged by itself. The schema has its marker only.
func single(t testing.TB, root map[string]any, m immutability.Mark) oneRule {
	t.Helper()
	root = runtime.DeepCopyJSON(root)
	removeMarkers(root)
	if m.IsMetadata() {
		return oneRule{root, compileSchema(t, root, m), &m}
	}
	m.Node(root)[m.Marker.Keyword()] = m.Marker.KeywordValue()
	return oneRule{root, compileSchema(t, root), &m}
}

func removeMarkers(s any) {
	if s, ok := s.(map[string]any); ok {
		for _, name := range markerKeywords {
			delete(s, name)
		}
		for _, child := range s {
			removeMarkers(child)
		}
	}
}

// compileSchema compiles a schema as JSON decoding gives it.
func compileSchema(t testing.TB, root map[string]any, marks ...immutability.Mark) *immutability.Policy {
	t.Helper()
	decoded := decodeSchema(t, root)
	marked := immutability.AddMarks(decoded, "v1", marks)
	policy, err := immutability.Compile(marked.Schema, marked.Layers...)
	if err != nil {
		t.Fatal(err)
	}
	return policy
}

func decodeSchema(t testing.TB, root map[string]any) *schema.Schema {
	t.Helper()
	decoded, _, err := schema.Decode(runtime.DeepCopyJSON(root))
	if err != nil {
		t.Fatal(err)
	}
	return decoded
}

// subject is a compiled definition.
type subject struct {
	root   map[string]any
	policy *immutability.Policy
	// rules are the rules of the policy, each by itself.
	rules   []oneRule
	options stock.Options
	judge   judge
	text    string
	// structural and conditions are for while. may is true if the user of the updates has all verbs.
	structural *structuralschema.Structural
	conditions map[string]*while.Condition
	may        bool
}

// engine reports whether package immutability refuses an update.
func (s *subject) engine(t testing.TB, oldObj, newObj map[string]any, see func(map[string]any, any) any) bool {
	t.Helper()
	view := func(object map[string]any) map[string]any {
		if see != nil {
			object = transform(s.root, object, see).(map[string]any)
		}
		return object
	}
	edge := refusal.Edge{
		Holds: func(expression string) (bool, error) {
			condition := s.conditions[expression]
			if condition == nil {
				var err error
				if condition, err = while.ForCustom(s.structural, expression); err != nil {
					t.Fatal(err)
				}
				s.conditions[expression] = condition
			}
			return condition.Holds(t.Context(), oldObj)
		},
		May: func(string) bool { return s.may },
	}
	if !s.options.CloseEscapes {
		return len(edge.Decide(refusal.Of("", s.policy.Check(view(oldObj), view(newObj)))).Refused) > 0
	}
	for _, one := range s.rules {
		parents := func(object map[string]any) map[string]any {
			return withParents(one.root, runtime.DeepCopyJSON(view(object))).(map[string]any)
		}
		found := one.policy.Check(parents(oldObj), parents(newObj))
		for i := range found {
			found[i].Mark = one.mark
		}
		if len(edge.Decide(refusal.Of("", found)).Refused) > 0 {
			return true
		}
	}
	return false
}

func rootSchema(definition map[string]any) map[string]any {
	versions := definition["spec"].(map[string]any)["versions"].([]any)
	return versions[0].(map[string]any)["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any)
}

func object(t testing.TB, definition map[string]any) manifest.Object {
	t.Helper()
	data, err := json.Marshal(definition)
	if err != nil {
		t.Fatal(err)
	}
	return manifest.Object{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition", JSON: data}
}

// newSubject compiles a definition. It returns nil if the definition cannot be compiled or has no
// markers. A definition that cannot be compiled has refusals, each of which names a field of its schema.
func newSubject(t testing.TB, definition map[string]any, options stock.Options) (*subject, []stock.Refusal) {
	t.Helper()
	result := stock.Compile(t.Context(), object(t, definition), options)
	for _, r := range result.Refusals {
		isField := strings.HasPrefix(r.Path, "spec.versions[0].schema.openAPIV3Schema.properties[")
		if !isField && r.Path != "metadata.annotations["+immutability.Annotation+"]" || r.Message == "" {
			t.Fatalf("a refusal names no field: %+v", r)
		}
	}
	if len(result.Refusals) > 0 || result.Rules == 0 {
		return nil, result.Refusals
	}
	text, err := json.MarshalIndent(result.Objects, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	again := stock.Compile(t.Context(), object(t, result.Objects[0]), options)
	if diff := cmp.Diff(result.Objects, again.Objects); diff != "" {
		t.Fatalf("compiled again (-first +second):\n%s", diff)
	}
	s := &subject{root: rootSchema(definition), options: options, text: string(text), conditions: map[string]*while.Condition{}}
	annotations, _ := definition["metadata"].(map[string]any)["annotations"].(map[string]any)
	lines, _ := annotations[immutability.Annotation].(string)
	marks, err := immutability.ParseMarks(lines)
	if err != nil {
		t.Fatal(err)
	}
	s.policy = compileSchema(t, s.root, marks...)
	own, err := immutability.Marks([]immutability.Version{{Name: "v1", Schema: decodeSchema(t, s.root)}})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range slices.Concat(own, marks) {
		s.rules = append(s.rules, single(t, s.root, m))
	}
	schemas := newSchemaJudge(t, result.Objects[0])
	s.structural = schemas.structural
	if options.Target == stock.CEL {
		s.judge = schemas
	} else {
		s.judge = newPolicyJudge(t, result.Objects, &s.may)
	}
	return s, nil
}

// checkWords checks that every refusal has the words that clients look for. Where a condition cannot be
// evaluated, Kubernetes writes the message.
func (s *subject) checkWords(t testing.TB, reasons []string) {
	t.Helper()
	for _, reason := range reasons {
		if !strings.Contains(reason, "field is immutable") && !strings.Contains(reason, "no such key") {
			t.Fatalf("%+v: a refusal says %q\n%s", s.options, reason, s.text)
		}
	}
}

// compare decides about an update with the engine and with the compiled rules.
func (s *subject) compare(t testing.TB, known []*exception, oldObj, newObj map[string]any) (refused bool) {
	t.Helper()
	want := s.engine(t, oldObj, newObj, nil)
	reasons := s.judge.refuses(t.Context(), oldObj, newObj)
	got := len(reasons) > 0
	if want == got {
		s.checkWords(t, reasons)
		return got
	}
	var all []func(map[string]any, any) any
	for _, e := range known {
		for _, target := range e.targets {
			if target != s.options.Target {
				continue
			}
			if s.engine(t, oldObj, newObj, e.see) == got {
				e.used++
				return got
			}
			all = append(all, e.see)
		}
	}
	together := func(s map[string]any, v any) any {
		for _, see := range all {
			v = see(s, v)
		}
		return v
	}
	if s.engine(t, oldObj, newObj, together) == got {
		return got
	}
	oldText, _ := json.Marshal(oldObj)
	newText, _ := json.Marshal(newObj)
	t.Fatalf("%+v: immutability refuses: %t %v; compiled rules refuse: %t %q\nold %s\nnew %s\n%s",
		s.options, want, s.policy.Check(oldObj, newObj), got, reasons, oldText, newText, s.text)
	return got
}
