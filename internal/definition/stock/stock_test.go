package stock_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/definition/stock"
	"holdfast.dev/holdfast/internal/manifest"
	"holdfast.dev/holdfast/internal/yamltest"
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
    spec: {type: string, x-kubernetes-immutable: true}, a: {type: string}}}}}
  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object, properties: {
    spec: {type: string, x-kubernetes-immutable: true}, a: {type: string, x-kubernetes-immutable: true}}}}}
`,
			cel: []string{"spec.versions[1].schema.openAPIV3Schema.properties[a]: free in v1, immutable in v2, " +
				"and Kubernetes runs only the rules of the version in a request; mark it in every version, or use --to policy"},
			policy: []string{"spec.versions[0].served: a policy cannot see the version that objects are stored in, " +
				"because it is not served; serve the version, or mark the same fields in a served version"},
		},
		"a served version without the field": {
			versions: `  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {
    spec: {type: object, properties: {a: {type: string, maxLength: 9, x-kubernetes-update: [NoModify]}}}}}}}
  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object, properties: {
    spec: {type: object, properties: {}}}}}}
`,
			cel: []string{root + ".properties[a]: no-modify in v1, free in v2, and Kubernetes runs only the rules of the version in a request; " +
				"mark it in every version, or use --to policy"},
			policy: []string{root + ".properties[a]: no-modify spec.a: version v2 is served and lacks the field, so a write through it erases the value, " +
				"which a policy does not see; add the field to v2, or do not serve v2"},
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

// annotated returns a definition with lines of the annotation.
func annotated(t testing.TB, versions string, lines ...string) manifest.Object {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal(definitionOf(t, versions).JSON, &object); err != nil {
		t.Fatal(err)
	}
	object["metadata"].(map[string]any)["annotations"] = map[string]any{immutability.Annotation: strings.Join(lines, "\n")}
	data, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return manifest.Object{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition", JSON: data}
}

const conditional = `{type: object, properties: {a: {type: string, maxLength: 9}, when: {type: string, format: date-time, maxLength: 40},
	d-e: {type: string, maxLength: 9}, nul: {type: string, nullable: true, maxLength: 9}}}`

// TestMarks compiles lines of the annotation that no schema can have.
func TestMarks(t *testing.T) {
	const unchanged = `!has(object.spec) || !has(oldObject.spec) || has(object.spec.a) == has(oldObject.spec.a) && ` +
		`(!has(object.spec.a) || object.spec.a == oldObject.spec.a)`
	tests := map[string]struct {
		line string
		// cel and policy are the expressions, or the refusals.
		cel, policy string
		// message is that of the policy. notes are about the policy.
		message string
		notes   []string
	}{
		"while": {
			line: `immutable spec.a while has(oldSelf.spec) && has(oldSelf.spec.a)`,
			cel: `!has(self.spec) || !has(oldSelf.spec) || has(self.spec.a) == has(oldSelf.spec.a) && ` +
				`(!has(self.spec.a) || self.spec.a == oldSelf.spec.a) || !(has(oldSelf.spec) && has(oldSelf.spec.a)) // holdfast schema compile`,
			policy:  unchanged + ` || !(has(oldObject.spec) && has(oldObject.spec.a))`,
			message: "spec.a: field is immutable while has(oldSelf.spec) && has(oldSelf.spec.a): keep the old value, or create a new object",
		},
		"unless": {
			line: `set-once spec.a unless move`,
			cel:  `set-once spec.a unless move: a CEL rule in a schema cannot ask for the rights of a user (unless)`,
			policy: `!has(object.spec) || !has(oldObject.spec) || (!has(oldObject.spec.a) || has(object.spec.a)) && ` +
				`(!has(object.spec.a) || !has(oldObject.spec.a) || object.spec.a == oldObject.spec.a) || ` +
				`authorizer.group("example.com").resource("things").namespace(oldObject.metadata.namespace)` +
				`.name(oldObject.metadata.name).check("move").allowed()`,
			message: "spec.a: field is immutable once set: keep the old value, or create a new object (a user that may move it can change it)",
			notes:   []string{"a policy sends no Warning and writes no audit annotation when a user uses the right to move"},
		},
		"a label": {
			line: `no-modify metadata.labels["team"]`,
			cel:  `no-modify metadata.labels.team: a CEL rule in a schema does not see labels and annotations`,
			policy: `!(has(object.metadata.labels) && dyn(object.metadata.labels) != null && has(object.metadata.labels.team)) || ` +
				`!(has(oldObject.metadata.labels) && dyn(oldObject.metadata.labels) != null && has(oldObject.metadata.labels.team)) || ` +
				`object.metadata.labels.team == oldObject.metadata.labels.team`,
			message: "metadata.labels.team: field is immutable: no-modify: keep the old value, or create a new object",
		},
		"no-delete": {
			line: `no-delete unless retire while oldSelf.spec.a == "x"`,
			cel:  `no-delete unless retire while oldSelf.spec.a == "x": a CEL rule in a schema does not see deletions`,
			policy: `has(oldObject.metadata.deletionTimestamp) || !(oldObject.spec.a == "x") || ` +
				`authorizer.group("example.com").resource("things").namespace(oldObject.metadata.namespace)` +
				`.name(oldObject.metadata.name).check("retire").allowed()`,
			message: `the rule "no-delete unless retire while oldSelf.spec.a == \"x\"" keeps it (a user that may retire it can delete it)`,
			notes: []string{
				"a policy sends no Warning and writes no audit annotation when a user uses the right to retire",
				"where the condition cannot be evaluated (no has() protects oldSelf.spec, oldSelf.spec.a), " +
					"the message of the refusal is that of Kubernetes, not that of the rule",
				"a policy answers 422, not 409; the deletion of the definition deletes the objects, " +
					"and the deletion of their namespace begins and does not end",
			},
		},
		"a time": {
			line: `immutable spec.a while has(oldSelf.spec) && has(oldSelf.spec.when) && oldSelf.spec.when.getFullYear() > 2020`,
			cel: `!has(self.spec) || !has(oldSelf.spec) || has(self.spec.a) == has(oldSelf.spec.a) && ` +
				`(!has(self.spec.a) || self.spec.a == oldSelf.spec.a) || ` +
				`!(has(oldSelf.spec) && has(oldSelf.spec.when) && oldSelf.spec.when.getFullYear() > 2020) // holdfast schema compile`,
			policy: `immutable spec.a while has(oldSelf.spec) && has(oldSelf.spec.when) && oldSelf.spec.when.getFullYear() > 2020: ` +
				`in a policy, oldSelf.spec.when is a text, not a date-time`,
		},
		"a name": {
			line: `immutable spec.a while has(oldSelf.spec) && has(oldSelf.spec.d__dash__e)`,
			cel: `!has(self.spec) || !has(oldSelf.spec) || has(self.spec.a) == has(oldSelf.spec.a) && ` +
				`(!has(self.spec.a) || self.spec.a == oldSelf.spec.a) || ` +
				`!(has(oldSelf.spec) && has(oldSelf.spec.d__dash__e)) // holdfast schema compile`,
			policy: `immutable spec.a while has(oldSelf.spec) && has(oldSelf.spec.d__dash__e): ` +
				`a policy cannot name the field of oldSelf.spec.d__dash__e`,
		},
		"null": {
			line: `immutable spec.a while has(oldSelf.spec) && has(oldSelf.spec.nul)`,
			cel: `!has(self.spec) || !has(oldSelf.spec) || has(self.spec.a) == has(oldSelf.spec.a) && ` +
				`(!has(self.spec.a) || self.spec.a == oldSelf.spec.a) || !(has(oldSelf.spec) && has(oldSelf.spec.nul)) // holdfast schema compile`,
			policy:  unchanged + ` || !(has(oldObject.spec) && has(oldObject.spec.nul))`,
			message: "spec.a: field is immutable while has(oldSelf.spec) && has(oldSelf.spec.nul): keep the old value, or create a new object",
			notes:   []string{"in a policy, has() is true for oldSelf.spec.nul if it is null"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for target, want := range map[stock.Target]string{stock.CEL: test.cel, stock.Policy: test.policy} {
				result := stock.Compile(t.Context(), annotated(t, oneVersion(conditional), test.line), stock.Options{Target: target})
				var got, messages, notes []string
				for _, r := range result.Refusals {
					got = append(got, r.Message)
				}
				got = append(got, expressions(result.Objects)...)
				if target == stock.CEL && len(result.Objects) > 0 {
					for _, rule := range rootSchema(result.Objects[0])["x-kubernetes-validations"].([]any) {
						got = append(got, rule.(map[string]any)["rule"].(string))
					}
				}
				if diff := cmp.Diff([]string{want}, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", target, diff)
				}
				if target == stock.CEL || test.message == "" {
					continue
				}
				policy := result.Objects[1]["spec"].(map[string]any)
				messages = append(messages, policy["validations"].([]any)[0].(map[string]any)["message"].(string))
				for _, note := range result.Notes {
					if note.Rule != strings.ReplaceAll(test.line, `["team"]`, ".team") {
						t.Errorf("a note is about %s", note.Rule)
					}
					notes = append(notes, note.Message)
				}
				if diff := cmp.Diff([]string{test.message}, messages); diff != "" {
					t.Errorf("message (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(test.notes, notes); diff != "" {
					t.Errorf("notes (-want +got):\n%s", diff)
				}
				again := stock.Compile(t.Context(), object(t, result.Objects[0]), stock.Options{Target: target})
				if diff := cmp.Diff(result.Objects, again.Objects); diff != "" {
					t.Errorf("compiled again (-first +second):\n%s", diff)
				}
			}
		})
	}
}

// TestDeletion runs the policy for DELETE.
func TestDeletion(t *testing.T) {
	const line = `no-delete unless resize while oldSelf.spec.a == "x"`
	result := stock.Compile(t.Context(), annotated(t, oneVersion(conditional), line), stock.Options{Target: stock.Policy})
	may := false
	judge := newPolicyJudge(t, result.Objects, &may)
	for name, test := range map[string]struct {
		object string
		may    bool
		want   string
	}{
		"the condition holds":            {`{spec: {a: x}}`, false, "keeps it"},
		"it does not":                    {`{spec: {a: y}}`, false, ""},
		"it cannot be evaluated":         {`{spec: {}}`, false, "no such key: a"},
		"the user has the right":         {`{spec: {a: x}}`, true, ""},
		"the object is terminating":      {`{spec: {a: x}, metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}}`, false, ""},
		"the right, without a condition": {`{spec: {}}`, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			object := yamltest.Map(t, test.object)
			metadata, _ := object["metadata"].(map[string]any)
			if metadata == nil {
				metadata = map[string]any{}
			}
			metadata["name"], metadata["namespace"] = "one", "default"
			object["metadata"] = metadata
			may = test.may
			got := strings.Join(judge.refusesDeletion(t.Context(), object), "; ")
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) || strings.Contains(got, "field is immutable") {
				t.Errorf("refused with %q, want %q", got, test.want)
			}
		})
	}
}

// TestVersionsThatKeepFields compiles rules about fields that another version does not name.
func TestVersionsThatKeepFields(t *testing.T) {
	versions := func(second string) string {
		return oneVersion(conditional) +
			"  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object, properties: {spec: " + second + "}}}}\n"
	}
	const line = "immutable spec.a"
	for second, want := range map[string]int{
		`{type: object, x-kubernetes-preserve-unknown-fields: true}`: 0,
		`{type: object, additionalProperties: {type: string}}`:       0,
		`{type: object}`: 1,
	} {
		result := stock.Compile(t.Context(), annotated(t, versions(second), line), stock.Options{Target: stock.Policy})
		if len(result.Refusals) != want {
			t.Errorf("%s: %v", second, result.Refusals)
		}
	}
	source := annotated(t, versions(`{type: object}`), line)
	source.JSON = []byte(strings.Replace(string(source.JSON), `"spec":{`, `"spec":{"conversion":{"strategy":"Webhook",`+
		`"webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"url":"https://example.com"}}},`, 1))
	result := stock.Compile(t.Context(), source, stock.Options{Target: stock.Policy})
	want := []stock.Note{{Rule: line, Message: "version v2 lacks the field: a write through it erases the value, unless the conversion webhook keeps it"}}
	if diff := cmp.Diff(want, result.Notes); diff != "" {
		t.Errorf("%v, notes (-want +got):\n%s", result.Refusals, diff)
	}
}

// TestSeveralRules checks that a second rule on a field is judged by itself, and stays in the annotation when
// the markers move into the schema.
func TestSeveralRules(t *testing.T) {
	source := annotated(t, oneVersion(conditional), "no-unset spec.a", "no-set spec.a", "immutable spec.when unless move")
	policy := stock.Compile(t.Context(), source, stock.Options{Target: stock.Policy})
	if got := len(expressions(policy.Objects)); got != 3 || policy.Rules != 3 {
		t.Errorf("%d expressions, %d rules, %v", got, policy.Rules, policy.Refusals)
	}
	markers := stock.Compile(t.Context(), source, stock.Options{Target: stock.Markers}).Objects[0]
	lines := markers["metadata"].(map[string]any)["annotations"].(map[string]any)[immutability.Annotation]
	if diff := cmp.Diff("no-set spec.a\nimmutable spec.when unless move\n", lines); diff != "" {
		t.Errorf("annotation (-want +got):\n%s", diff)
	}
	spec := rootSchema(markers)["properties"].(map[string]any)["spec"].(map[string]any)
	if diff := cmp.Diff([]any{"NoUnset"}, spec["properties"].(map[string]any)["a"].(map[string]any)["x-kubernetes-update"]); diff != "" {
		t.Errorf("keyword (-want +got):\n%s", diff)
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
