package stock_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/definition/stock"
	"holdfast.dev/holdfast/internal/manifest"
)

// definitionOf returns a definition with one version and the given schema of spec.
func definitionOf(t testing.TB, version string) manifest.Object {
	t.Helper()
	text := `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  names: {plural: things, kind: Thing}
  scope: Namespaced
  versions:
` + version
	objects, err := manifest.Split("things.yaml", []byte(text))[0].Objects()
	if err != nil {
		t.Fatal(err)
	}
	return objects[0]
}

func oneVersion(spec string) string {
	return "  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {\n" +
		"    spec: " + spec + "}}}}\n"
}

// expressions returns the expressions of the policies of a result.
func expressions(objects []map[string]any) []string {
	var found []string
	for _, object := range objects {
		if object["kind"] != "ValidatingAdmissionPolicy" {
			continue
		}
		for _, v := range object["spec"].(map[string]any)["validations"].([]any) {
			found = append(found, v.(map[string]any)["expression"].(string))
		}
	}
	return found
}

func TestExpressions(t *testing.T) {
	tests := map[string]struct {
		schema string
		// want are the expressions for a policy, open and closed.
		want, closed string
	}{
		"optional": {
			schema: `{type: object, properties: {a: {type: string, x-kubernetes-immutable: true}}}`,
			want: `!has(object.spec) || !has(oldObject.spec) || ` +
				`has(object.spec.a) == has(oldObject.spec.a) && (!has(object.spec.a) || object.spec.a == oldObject.spec.a)`,
			closed: `object.?spec.?a == oldObject.?spec.?a`,
		},
		"a name that CEL cannot select": {
			schema: `{type: object, properties: {1-a: {type: string, x-kubernetes-immutable: true}}}`,
			want: `!has(object.spec) || !has(oldObject.spec) || ` +
				`("1-a" in dyn(object.spec)) == ("1-a" in dyn(oldObject.spec)) && ` +
				`(!("1-a" in dyn(object.spec)) || dyn(object.spec)["1-a"] == dyn(oldObject.spec)["1-a"])`,
			closed: `dyn(object.?spec)[?"1-a"] == dyn(oldObject.?spec)[?"1-a"]`,
		},
		"a set": {
			schema: `{type: array, maxItems: 4, x-kubernetes-list-type: set, x-kubernetes-immutable: true, items: {type: string, maxLength: 4}}`,
			want: `has(object.spec) == has(oldObject.spec) && ` +
				`(!has(object.spec) || size(object.spec) == size(oldObject.spec) && object.spec.all(item, item in oldObject.spec))`,
			closed: `has(object.spec) == has(oldObject.spec) && ` +
				`(!has(object.spec) || size(object.spec) == size(oldObject.spec) && object.spec.all(item, item in oldObject.spec))`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for closed, want := range map[bool]string{false: test.want, true: test.closed} {
				options := stock.Options{Target: stock.Policy, CloseEscapes: closed}
				result := stock.Compile(t.Context(), definitionOf(t, oneVersion(test.schema)), options)
				if diff := cmp.Diff([]string{want}, expressions(result.Objects)); diff != "" {
					t.Errorf("closed %t: %v (-want +got):\n%s", closed, result.Refusals, diff)
				}
			}
		})
	}
}

// TestOlderServers checks that rules in schemas use nothing that servers before Kubernetes 1.28 do
// not have: optionalOldSelf and optional values.
func TestOlderServers(t *testing.T) {
	for seed := range uint64(60) {
		for _, closed := range []bool{false, true} {
			options := stock.Options{Target: stock.CEL, CloseEscapes: closed}
			result := stock.Compile(t.Context(), object(t, newGenerator(seed).definition()), options)
			text := fmt.Sprint(result.Objects)
			for _, new := range []string{"optionalOldSelf", ".?", "[?", "optional."} {
				if strings.Contains(text, new) {
					t.Errorf("seed %d: %s in %s", seed, new, text)
				}
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	const root = "spec.versions[0].schema.openAPIV3Schema.properties[spec]"
	tests := map[string]struct {
		versions string
		// cel and policy are the refusals of the targets: path, message and fix.
		cel, policy []string
	}{
		"a name": {
			versions: oneVersion(`{type: object, properties: {1a: {type: string, x-kubernetes-immutable: true}}}`),
			cel:      []string{root + ".properties[1a]: CEL cannot name this property; rename the property, or use --to policy"},
		},
		"unknown fields": {
			versions: oneVersion(`{type: object, x-kubernetes-preserve-unknown-fields: true, x-kubernetes-immutable: true}`),
			cel: []string{root + ": CEL cannot compare fields that the schema does not specify; " +
				"specify the fields, or use --to policy"},
		},
		"values without a schema": {
			versions: oneVersion(`{type: object, additionalProperties: true, x-kubernetes-addition-only: true}`),
			cel: []string{root + ": CEL cannot list the keys of a map whose values have no schema; " +
				"give the values a schema, or use --to policy"},
		},
		"items by index": {
			versions: oneVersion(`{type: array, items: {type: string, x-kubernetes-immutable: true}}`),
			cel: []string{root + ": CEL needs a bound to compare the items of a list by their index; " +
				"add maxItems, at most 128, or make it a list of type map"},
			policy: []string{root + ": CEL needs a bound to compare the items of a list by their index; " +
				"add maxItems, at most 128, or make it a list of type map"},
		},
		"costs": {
			versions: oneVersion(`{type: object, additionalProperties: {type: object, additionalProperties: {type: string},
				x-kubernetes-immutable: true}}`),
			cel: []string{root + ".additionalProperties: the rule for it is too expensive for Kubernetes: " +
				"with the largest values it costs more than 100 times the limit; " +
				"for example, add maxProperties: 8192 to spec, maxProperties: 8192 to spec.*, maxLength: 8192 to spec.*.*"},
			policy: []string{root + ".additionalProperties: the rule for it is too expensive for Kubernetes: " +
				"with the largest values it costs more than 100 times the limit; " +
				"for example, add maxProperties: 8192 to spec, maxProperties: 8192 to spec.*, maxLength: 8192 to spec.*.*"},
		},
		"keywords": {
			versions: oneVersion(`{type: object, x-kubernetes-no-prune: true, properties: {
				a: {type: array, items: {type: string}, x-kubernetes-normalize: undefined}}}`),
			cel: []string{
				root + ".x-kubernetes-no-prune: Kubernetes does not have this keyword; use x-kubernetes-preserve-unknown-fields",
				root + ".properties[a].x-kubernetes-normalize: Kubernetes does not have this keyword, " +
					"so a value and an absent value differ there; remove it",
			},
			policy: []string{
				root + ".x-kubernetes-no-prune: Kubernetes does not have this keyword; use x-kubernetes-preserve-unknown-fields",
				root + ".properties[a].x-kubernetes-normalize: Kubernetes does not have this keyword, " +
					"so a value and an absent value differ there; remove it",
			},
		},
		"versions that differ": {
			versions: `  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {
    spec: {type: string, x-kubernetes-immutable: true}}}}}
  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object, properties: {
    spec: {type: string}}}}}
`,
			cel: []string{root + ": immutable in v1, free in v2, and Kubernetes runs only the rules of the version in a request; " +
				"mark it in every version, or use --to policy"},
		},
		"a storage version that is not served": {
			versions: `  - {name: v1, served: false, storage: true, schema: {openAPIV3Schema: {type: object, properties: {
    spec: {type: string, x-kubernetes-immutable: true}}}}}
  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object, properties: {
    spec: {type: string, x-kubernetes-immutable: true}, a: {type: string, x-kubernetes-immutable: true}}}}}
`,
			cel: []string{"spec.versions[1].schema.openAPIV3Schema.properties[a]: free in v1, immutable in v2, " +
				"and Kubernetes runs only the rules of the version in a request; mark it in every version, or use --to policy"},
			policy: []string{"spec.versions[0].served: a policy cannot see the version that objects are stored in, " +
				"because it is not served; serve the version, or mark the same fields in a served version"},
		},
		"scale": {
			versions: `  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {
      spec: {type: object, properties: {size: {type: integer, x-kubernetes-immutable: true}}}}}},
    subresources: {scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.size}}}
`,
			policy: []string{root + ".properties[size]: " +
				"the subresource scale writes this field, and a policy does not see the object in such a request; " +
				"use --to cel, or remove the subresource scale"},
		},
		"what Kubernetes refuses": {
			versions: oneVersion(`{properties: {a: {type: string, x-kubernetes-immutable: true}}}`),
			cel: []string{root + ".type: Required value: must not be empty for specified object fields " +
				"(in Kubernetes; this server accepts it); "},
			policy: []string{root + ".type: Required value: must not be empty for specified object fields " +
				"(in Kubernetes; this server accepts it); "},
		},
		"what every server refuses": {
			versions: oneVersion(`{type: string, x-kubernetes-immutable-keys: true, x-kubernetes-imutable: true}`),
			cel: []string{
				root + ".x-kubernetes-imutable: is no field; ",
				root + ".x-kubernetes-immutable-keys: Forbidden: needs keys: this is a scalar; ",
			},
			policy: []string{
				root + ".x-kubernetes-imutable: is no field; ",
				root + ".x-kubernetes-immutable-keys: Forbidden: needs keys: this is a scalar; ",
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for target, want := range map[stock.Target][]string{stock.CEL: test.cel, stock.Policy: test.policy} {
				result := stock.Compile(t.Context(), definitionOf(t, test.versions), stock.Options{Target: target})
				var got []string
				for _, r := range result.Refusals {
					got = append(got, fmt.Sprintf("%s: %s; %s", r.Path, r.Message, r.Fix))
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", target, diff)
				}
				if (len(want) > 0) != (len(result.Objects) == 0) {
					t.Errorf("%s: %d objects", target, len(result.Objects))
				}
			}
		})
	}
}

// TestBetweenTargets compiles a definition to one target and the result to the other, and back.
func TestBetweenTargets(t *testing.T) {
	source := definitionOf(t, oneVersion(`{type: object, properties: {
		a: {type: string, maxLength: 9, x-kubernetes-immutable: true, x-kubernetes-validations: [{rule: self != "x"}]}}}`))
	first := stock.Compile(t.Context(), source, stock.Options{Target: stock.CEL})
	policies := stock.Compile(t.Context(), object(t, first.Objects[0]), stock.Options{Target: stock.Policy})
	again := stock.Compile(t.Context(), object(t, policies.Objects[0]), stock.Options{Target: stock.CEL})
	if diff := cmp.Diff(first.Objects, again.Objects); diff != "" || len(policies.Objects) != 3 || first.Rules != 1 {
		t.Errorf("%d objects in between (-first +again):\n%s", len(policies.Objects), diff)
	}
	if text := fmt.Sprint(policies.Objects[0]); strings.Contains(text, "oldSelf") || !strings.Contains(text, `self != "x"`) {
		t.Errorf("the rules of the author must stay, and the others must go: %s", text)
	}
}
