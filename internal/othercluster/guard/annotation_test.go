package guard_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/internal/othercluster/guard"
	"holdfast.dev/holdfast/internal/yamltest"
)

// harboursDefinition has lists and maps of every type. NAME is the plural name and the group.
const harboursDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: NAME, annotations: {api-approved.kubernetes.io: unapproved, holdfast.dev/immutability: "RULES"}}
spec:
  group: GROUP
  scope: Namespaced
  names: {plural: harbours, kind: Harbour}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: SCHEMA}}
  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object,
      properties: {depth: {type: integer}, berths: {type: array, items: {type: string}}}}}}}}
`

const harbourSchema = `{type: object, properties: {spec: {type: object, properties: {` +
	`depth: {type: integer}, berths: {type: array, items: {type: string}, x-kubernetes-list-type: set}, ` +
	`cranes: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], ` +
	`items: {type: object, required: [name], properties: {name: {type: string}, load: {type: integer}}}}, ` +
	`tolls: {type: object, additionalProperties: {type: integer}}, ` +
	`rate: {type: object, x-kubernetes-map-type: atomic, additionalProperties: {type: integer}}, ` +
	`lights: {type: object, properties: {red: {type: string}}}}}}}`

// harbours returns the definition with rules.
func harbours(t *testing.T, group string, rules []string) *unstructured.Unstructured {
	t.Helper()
	text := strings.NewReplacer("NAME", "harbours."+group, "GROUP", group, "SCHEMA", harbourSchema, "RULES", strings.Join(rules, `\n`)).
		Replace(harboursDefinition)
	obj := yamltest.Object(t, text)
	return obj
}

// TestAnnotations checks that the guard names the same errors of an annotation as our server, which refuses the
// definition, and that exactly the other rules have an effect.
func TestAnnotations(t *testing.T) {
	t.Parallel()
	f := start(t)
	const depth = "immutable spec.depth"
	for name, test := range map[string]struct {
		rules, kept []string
		// accepted means that our server accepts the annotation.
		accepted bool
	}{
		"valid":                          {rules: []string{depth}, kept: []string{depth}, accepted: true},
		"no line":                        {rules: []string{"# later", ""}, accepted: true},
		"no such marker":                 {rules: []string{depth, "frozen spec.tolls"}, kept: []string{depth}},
		"a mode":                         {rules: []string{depth, "warn immutable spec.tolls"}, kept: []string{depth}},
		"no path":                        {rules: []string{depth, "immutable"}, kept: []string{depth}},
		"a path that is none":            {rules: []string{depth, "immutable spec..tolls"}, kept: []string{depth}},
		"an empty version":               {rules: []string{depth, "v1,: immutable spec.tolls"}, kept: []string{depth}},
		"no such field":                  {rules: []string{depth, "immutable spec.dept"}, kept: []string{depth}},
		"no such version":                {rules: []string{depth, "v3: immutable spec.tolls"}, kept: []string{depth}},
		"metadata":                       {rules: []string{depth, "immutable metadata"}, kept: []string{depth}},
		"two rules for a field":          {rules: []string{depth, "addition-only spec.tolls", "immutable spec.tolls"}, kept: []string{depth, "addition-only spec.tolls", "immutable spec.tolls"}, accepted: true},
		"keys of a scalar":               {rules: []string{depth, "immutable-keys spec.tolls.*"}, kept: []string{depth}},
		"keys of an object":              {rules: []string{depth, "addition-only spec.lights"}, kept: []string{depth}},
		"keys of an atomic map":          {rules: []string{depth, "deletion-only spec.rate"}, kept: []string{depth}},
		"keys of a set":                  {rules: []string{depth, "v1: immutable-keys spec.berths"}, kept: []string{depth}},
		"keys that are not immutable":    {rules: []string{depth, "immutable-keys spec.cranes"}, kept: []string{depth}},
		"additions of such keys":         {rules: []string{depth, "addition-only spec.cranes"}, kept: []string{depth}},
		"another field is immutable":     {rules: []string{"deletion-only spec.cranes", "immutable spec.cranes[*].load"}, kept: []string{"immutable spec.cranes[*].load"}},
		"keys that are immutable":        {rules: []string{"immutable-keys spec.cranes", "immutable spec.cranes[*].name"}, kept: []string{"immutable-keys spec.cranes", "immutable spec.cranes[*].name"}, accepted: true},
		"not valid in one version":       {rules: []string{"addition-only spec.berths"}, kept: []string{"v1: addition-only spec.berths"}},
		"the key has two markers":        {rules: []string{depth, "immutable-keys spec.cranes", "addition-only spec.cranes[*].name"}, kept: []string{depth}},
		"every rule is wrong":            {rules: []string{"immutable-keys spec.cranes", "frozen spec"}},
		"the whole schema, and a marker": {rules: []string{"immutable spec", "immutable-keys spec.cranes"}, kept: []string{"immutable spec"}},
	} {
		crd := harbours(t, "example.com", test.rules)
		problems, table, err := guard.Problems(crd.Object)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(f.refusedDefinition(crd), problems); diff != "" || test.accepted != (len(problems) == 0) {
			t.Errorf("%s: (-server +guard):\n%s", name, diff)
		}
		if diff := cmp.Diff(test.kept, table["harbours.example.com"]); diff != "" {
			t.Errorf("%s: rules in force (-want +got):\n%s", name, diff)
		}
	}
	// Our server enforces the rules of an excluded group, the guard never does.
	excluded := harbours(t, "rbac.authorization.k8s.io", []string{depth})
	problems, table, err := guard.Problems(excluded.Object)
	if diff := cmp.Diff([]string{"this resource is never guarded"}, problems); diff != "" || err != nil || len(table) > 0 {
		t.Errorf("an excluded group: %v, %v, %s", table, err, diff)
	}
}

// refusedDefinition creates a definition, as a dry run, and returns the causes of the refusal.
func (f *fixture) refusedDefinition(crd *unstructured.Unstructured) []string {
	f.Helper()
	_, err := f.of(definitions).Create(f.Context(), crd, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	var refused apierrors.APIStatus
	if err == nil || !errors.As(err, &refused) {
		return nil
	}
	var out []string
	for _, cause := range refused.Status().Details.Causes {
		out = append(out, cause.Field+": "+cause.Message)
	}
	return out
}

// TestRulesWithoutEffect checks that rules of a policy that our server would refuse have no effect, on a custom resource and on
// a built-in one, and that the status of the policy says so.
func TestRulesWithoutEffect(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.run()
	f.create(definitions, string(encode(t, harbours(t, "example.com", nil).Object)))
	f.create(policies, `
apiVersion: guard.holdfast.dev/v1alpha1
kind: ImmutabilityPolicy
metadata: {name: cranes}
spec: {resources: [harbours.example.com, services, pods], rules: [immutable spec.depth, immutable-keys spec.cranes, addition-only spec.ports]}
`)
	const at = "default/harbours.v1.example.com"
	f.create(at, `{apiVersion: example.com/v1, kind: Harbour, metadata: {name: h}, spec: {depth: 9, cranes: [{name: a}]}}`)
	f.guarded("harbours")
	f.wantStatus("cranes", "False",
		`harbours.example.com: version v1: properties[spec].properties[cranes].x-kubernetes-immutable-keys: `+
			`needs x-kubernetes-immutable on the items or on their key "name"`,
		`harbours.example.com: addition-only spec.ports: no version has this field`,
		`services: properties[spec].properties[ports].x-kubernetes-addition-only: needs x-kubernetes-immutable on the items or on their key`,
		`pods: immutable spec.depth: the resource has no such field`)
	found, err := f.of(policies).Get(t.Context(), "cranes", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	matched, _, _ := unstructured.NestedStringSlice(found.Object, "status", "guarded")
	if diff := cmp.Diff([]string{"harbours.example.com"}, matched); diff != "" {
		t.Errorf("guarded (-want +got):\n%s", diff)
	}
	f.asks(at, "h", `{spec: {depth: 8}}`)
	if got := f.patch(at, "h", `{spec: {depth: 8}}`); !strings.HasPrefix(got, "BadRequest: ") {
		t.Errorf("a rule with an effect: %s", got)
	}
	if got := f.patch(at, "h", `{spec: {cranes: [{name: b}]}}`); got != "ok" {
		t.Errorf("a rule without effect: %s", got)
	}
}

// A definition may lose its annotation between the moment when a replica knows that it has one and the moment when it reads the
// definition. It then has no rules.
func TestDefinitionWithoutAnnotation(t *testing.T) {
	t.Parallel()
	problems, table, err := guard.Problems(yamltest.Object(t, widgetsDefinition).Object)
	if err != nil || len(problems) > 0 || len(table) > 0 {
		t.Errorf("problems %q, rules %v, %v", problems, table, err)
	}
}
