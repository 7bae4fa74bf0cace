package immutability_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/yamltest"
)

// quantity returns a quantity as a decimal number, the same for all spellings.
func quantity(value any) any {
	text, _ := value.(string)
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return value
	}
	number := q.AsDec().String()
	if strings.Contains(number, ".") {
		number = strings.TrimRight(strings.TrimRight(number, "0"), ".")
	}
	return number
}

func compareQuantities(a, b any) int {
	x, _ := a.(string)
	y, _ := b.(string)
	p, _ := resource.ParseQuantity(x)
	q, _ := resource.ParseQuantity(y)
	return p.Cmp(q)
}

// pod has the rules of Kubernetes for a Pod: the spec is immutable, except for the
// fields that upstream allows to change.
var pod = []immutability.Rule{
	{Path: "spec", Marker: immutability.Immutable},
	{Path: "spec.containers[*].image"},
	{Path: "spec.initContainers[*].image"},
	{Path: "spec.containers[*].resources.limits.*", Marker: immutability.Immutable, Canonical: quantity},
	{Path: "spec.activeDeadlineSeconds", Marker: immutability.Immutable, Exception: &immutability.Exception{
		Name: "it may be set or come sooner",
		Allows: func(c immutability.Change) bool {
			sooner, _ := c.New.(int64)
			later, wasSet := c.Old.(int64)
			return sooner > 0 && (!wasSet || sooner < later)
		},
	}},
	{Path: "spec.terminationGracePeriodSeconds"},
	{Path: "spec.tolerations", Marker: immutability.AdditionOnly, Keys: []string{"key", "operator", "value", "effect"}},
	{Path: "spec.schedulingGates", Marker: immutability.DeletionOnly, Keys: []string{"name"}},
}

var claim = []immutability.Rule{
	{Path: "spec", Marker: immutability.Immutable},
	{Path: "spec.resources.requests.storage", Marker: immutability.Immutable, Canonical: quantity, Exception: &immutability.Exception{
		Name:   "a storage request may grow",
		Allows: func(c immutability.Change) bool { return c.Old != nil && compareQuantities(c.New, c.Old) > 0 },
	}},
}

var job = []immutability.Rule{
	{Path: "spec.selector", Marker: immutability.Immutable},
	{Path: "spec.template", Marker: immutability.Immutable, Exception: &immutability.Exception{
		Name: "the template is free while the job is suspended",
		Allows: func(c immutability.Change) bool {
			spec, _ := c.OldObject["spec"].(map[string]any)
			return spec["suspend"] == true
		},
	}},
	{Path: "spec.template.metadata.labels", Marker: immutability.AdditionOnly},
}

var other = []immutability.Rule{
	{Path: "data.*", Marker: immutability.Immutable},
	{Path: `annotations["a.b/c"]`, Marker: immutability.Immutable},
	{Path: "modes", Marker: immutability.Immutable, Set: true},
	{Path: "keys", Marker: immutability.ImmutableKeys},
}

func TestDeclare(t *testing.T) {
	for name, test := range map[string]struct {
		rules    []immutability.Rule
		old, new string
		want     []string
	}{
		"pod: image": {
			pod, `{spec: {containers: [{name: a, image: x}], initContainers: [{image: x}]}}`,
			`{spec: {containers: [{name: a, image: z}], initContainers: [{image: z}]}}`, nil,
		},
		"pod: image beside a change": {
			pod, `{spec: {containers: [{name: a, image: x}]}}`, `{spec: {containers: [{name: b, image: z}]}}`,
			[]string{`spec.containers[0].name: field is immutable: changed from "a" to "b"`},
		},
		"pod: container added": {
			pod, `{spec: {containers: [{name: a}]}}`, `{spec: {containers: [{name: a}, {name: b}]}}`,
			[]string{`spec.containers[1]: field is immutable: added {"name":"b"}`},
		},
		"pod: containers change places": {
			pod, `{spec: {containers: [{name: a, image: x}, {name: b}]}}`, `{spec: {containers: [{name: b}, {name: a, image: z}]}}`,
			[]string{
				`spec.containers: field is immutable: reordered from [{"image":"x","name":"a"},{"name":"b"}] to ` +
					`[{"name":"b"},{"image":"z","name":"a"}]`,
			},
		},
		"pod: quantity by value": {
			pod, `{spec: {containers: [{resources: {limits: {cpu: "1", memory: 1Gi}}}]}}`,
			`{spec: {containers: [{resources: {limits: {cpu: 1000m, memory: 1024Mi}}}]}}`, nil,
		},
		"pod: quantity changed": {
			pod, `{spec: {containers: [{resources: {limits: {cpu: "1"}}}]}}`, `{spec: {containers: [{resources: {limits: {cpu: 1001m}}}]}}`,
			[]string{`spec.containers[0].resources.limits.cpu: field is immutable: changed from "1" to "1001m"`},
		},
		"pod: deadline set":    {pod, `{spec: {}}`, `{spec: {activeDeadlineSeconds: 10}}`, nil},
		"pod: deadline sooner": {pod, `{spec: {activeDeadlineSeconds: 10}}`, `{spec: {activeDeadlineSeconds: 5}}`, nil},
		"pod: deadline later": {
			pod, `{spec: {activeDeadlineSeconds: 10}}`, `{spec: {activeDeadlineSeconds: 50}}`,
			[]string{`spec.activeDeadlineSeconds: field is immutable: changed from 10 to 50`},
		},
		"pod: deadline removed": {
			pod, `{spec: {activeDeadlineSeconds: 10}}`, `{spec: {}}`, []string{`spec.activeDeadlineSeconds: field is immutable: removed 10`},
		},
		"pod: grace period":     {pod, `{spec: {terminationGracePeriodSeconds: 10}}`, `{spec: {}}`, nil},
		"pod: toleration added": {pod, `{spec: {}}`, `{spec: {tolerations: [{key: a, operator: Exists}]}}`, nil},
		"pod: toleration removed": {
			pod, `{spec: {tolerations: [{key: a, operator: Exists}, {key: b}]}}`, `{spec: {tolerations: [{key: b, tolerationSeconds: 5}]}}`,
			[]string{`spec.tolerations[key="a",operator="Exists"]: field is immutable: addition only: removed {"key":"a","operator":"Exists"}`},
		},
		"pod: gate removed": {pod, `{spec: {schedulingGates: [{name: a}]}}`, `{spec: {}}`, nil},
		"pod: gate added": {
			pod, `{spec: {}}`, `{spec: {schedulingGates: [{name: a}]}}`,
			[]string{`spec.schedulingGates[name="a"]: field is immutable: deletion only: added {"name":"a"}`},
		},
		"pod: absent is empty": {
			pod, `{spec: {volumes: [], nodeSelector: {}, securityContext: {}, hostAliases: null}}`,
			`{spec: {securityContext: {seLinuxOptions: {}}}}`, nil,
		},
		"pod: empty objects added": {pod, `{spec: {}}`, `{spec: {securityContext: {seLinuxOptions: {}}}}`, nil},
		"pod: spec added":          {pod, `{}`, `{spec: {nodeName: a}}`, []string{`spec.nodeName: field is immutable: added "a"`}},
		"pod: empty string, false and zero are set": {
			pod, `{spec: {a: "", b: false, c: 0}}`, `{spec: {}}`,
			[]string{`spec.a: field is immutable: removed ""`, `spec.b: field is immutable: removed false`, `spec.c: field is immutable: removed 0`},
		},
		"pod: metadata is not held": {pod, `{metadata: {labels: {a: b}}}`, `{metadata: {}}`, nil},

		"claim: grows": {
			claim, `{spec: {resources: {requests: {storage: 1Gi}}}}`, `{spec: {resources: {requests: {storage: 2Gi}}}}`, nil,
		},
		"claim: rewrites": {
			claim, `{spec: {resources: {requests: {storage: 1Gi}}}}`, `{spec: {resources: {requests: {storage: 1024Mi}}}}`, nil,
		},
		"claim: shrinks": {
			claim, `{spec: {resources: {requests: {storage: 2Gi}}}}`, `{spec: {resources: {requests: {storage: 1Gi}}}}`,
			[]string{`spec.resources.requests.storage: field is immutable: changed from "2Gi" to "1Gi"`},
		},
		"claim: grows and changes": {
			claim, `{spec: {accessModes: [RWO], resources: {requests: {storage: 1Gi}}}}`, `{spec: {accessModes: [RWX],
				resources: {requests: {storage: 2Gi}}}}`,
			[]string{`spec.accessModes[0]: field is immutable: changed from "RWO" to "RWX"`},
		},
		"claim: parents added": {
			claim, `{spec: {volumeName: a}}`, `{spec: {volumeName: a, resources: {requests: {storage: 1Gi}}}}`,
			[]string{`spec.resources.requests.storage: field is immutable: added "1Gi"`},
		},
		"claim: no class is a class": {
			claim, `{spec: {storageClassName: ""}}`, `{spec: {}}`, []string{`spec.storageClassName: field is immutable: removed ""`},
		},

		"job: suspended": {job, `{spec: {suspend: true, template: {spec: {a: 1}}}}`, `{spec: {template: {spec: {a: 2}}}}`, nil},
		"job: running": {
			job, `{spec: {template: {spec: {a: 1}}}}`, `{spec: {suspend: true, template: {spec: {a: 2}}}}`,
			[]string{`spec.template.spec.a: field is immutable: changed from 1 to 2`},
		},
		"job: exception of one rule only": {
			job, `{spec: {suspend: true, selector: {a: b}, template: {metadata: {labels: {a: b}}}}}`, `{spec: {suspend: true,
				template: {}}}`,
			[]string{`spec.selector: field is immutable: removed {"a":"b"}`, `spec.template.metadata.labels.a: field is immutable: addition only: removed "b"`},
		},

		"map values": {
			other, `{data: {a: 1, b: 1}}`, `{data: {a: 2, c: 1}}`, []string{`data.a: field is immutable: changed from 1 to 2`},
		},
		"quoted name": {
			other, `{annotations: {a.b/c: 1, d: 1}}`, `{annotations: {a.b/c: 2}}`,
			[]string{`annotations["a.b/c"]: field is immutable: changed from 1 to 2`},
		},
		"quoted name, no map":   {other, `{annotations: {a.b/c: 1, d: 1}}`, `{}`, []string{`annotations["a.b/c"]: field is immutable: removed 1`}},
		"set":                   {other, `{modes: [a, b]}`, `{modes: [b, a]}`, nil},
		"set with empty things": {other, `{modes: [{a: 1, b: {c: []}}, z]}`, `{modes: [z, {a: 1}]}`, nil},
		"keys of a map":         {other, `{}`, `{keys: {a: 1}}`, []string{`keys.a: field is immutable: immutable keys: added 1`}},
	} {
		t.Run(name, func(t *testing.T) {
			policy, err := immutability.Declare(test.rules)
			if err != nil {
				t.Fatal(err)
			}
			oldObj, newObj := yamltest.Map(t, test.old), yamltest.Map(t, test.new)
			if diff := cmp.Diff(test.want, lines(policy.Check(oldObj, newObj))); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
			if found := policy.Check(newObj, yamltest.Map(t, test.new)); found != nil {
				t.Errorf("an update that changes nothing is refused: %v", lines(found))
			}
		})
	}
}

func TestDeclareRefuses(t *testing.T) {
	allow := func(immutability.Change) bool { return true }
	for name, test := range map[string]struct {
		rules []immutability.Rule
		want  string
	}{
		"empty path": {[]immutability.Rule{{Marker: immutability.Immutable}}, `rule "": the path is empty`},
		"dot at the end": {
			[]immutability.Rule{{Path: "a.", Marker: immutability.Immutable}}, `rule "a.": at ".": a name must follow the dot`,
		},
		"dot at the start": {
			[]immutability.Rule{{Path: ".a", Marker: immutability.Immutable}},
			`rule ".a": at ".a": want names with one dot between them`,
		},
		"no dot": {
			[]immutability.Rule{{Path: "a[*]b", Marker: immutability.Immutable}},
			`rule "a[*]b": at "b": must go on with a dot or a bracket`,
		},
		"index": {
			[]immutability.Rule{{Path: "a[0]", Marker: immutability.Immutable}}, `rule "a[0]": at "[0]": want [*] or a quoted name`,
		},
		"open bracket": {
			[]immutability.Rule{{Path: `a["b"`, Marker: immutability.Immutable}},
			`rule "a[\"b\"": at "[\"b\"": the bracket is not closed`,
		},
		"twice": {
			[]immutability.Rule{{Path: "a", Marker: immutability.Immutable}, {Path: "a", Marker: immutability.AdditionOnly}},
			`rule "a": there is another rule for this path`,
		},
		"free": {[]immutability.Rule{{Path: "a"}}, `rule "a": has no effect, no rule above it is immutable`},
		"free in a free one": {
			[]immutability.Rule{{Path: "a", Marker: immutability.AdditionOnly}, {Path: "a.b"}},
			`rule "a.b": has no effect, no rule above it is immutable`,
		},
		"set and map": {
			[]immutability.Rule{{Path: "a", Marker: immutability.Immutable, Set: true, Keys: []string{"b"}}},
			`rule "a": a list is of type set or of type map, not both`,
		},
		"inside of a set": {
			[]immutability.Rule{{Path: "a", Marker: immutability.Immutable, Set: true}, {Path: "a[*].b"}},
			`rule "a[*].b": lies inside of the set a`,
		},
		"canonical": {
			[]immutability.Rule{{Path: "a", Marker: immutability.AdditionOnly, Canonical: quantity}},
			`rule "a": only an immutable value is compared, so only it can have a canonical form`,
		},
		"exception of free": {
			[]immutability.Rule{
				{Path: "a", Marker: immutability.Immutable},
				{Path: "a.b", Exception: &immutability.Exception{Name: "x", Allows: allow}},
			},
			`rule "a.b": a rule with the marker Free cannot have an exception`,
		},
		"nameless exception": {
			[]immutability.Rule{{Path: "a", Marker: immutability.Immutable, Exception: &immutability.Exception{Allows: allow}}},
			`rule "a": an exception needs a name and a function`,
		},
		"all of them": {
			[]immutability.Rule{{Path: "b"}, {Path: "a"}, {Path: ""}},
			"rule \"\": the path is empty\nrule \"a\": has no effect, no rule above it is immutable\n" +
				"rule \"b\": has no effect, no rule above it is immutable",
		},
	} {
		t.Run(name, func(t *testing.T) {
			policy, err := immutability.Declare(test.rules)
			if policy != nil || err == nil || strings.TrimSpace(err.Error()) != test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
	if policy, err := immutability.Declare(nil); policy != nil || err != nil {
		t.Errorf("no rules: got %v, %v", policy, err)
	}
}
