package lint_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/definition/lint"
	"holdfast.dev/holdfast/internal/manifest"
)

// definitionOf returns a definition with one version, whose schema begins at line 9.
func definitionOf(schema string) string {
	const head = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {plural: widgets, kind: Widget}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object,
`
	return head + schema + "\n}}}]\n"
}

// withAnnotation returns a definition with an annotation. The value is in double quotes.
func withAnnotation(name, value string) string {
	file := definitionOf("required: [spec], properties: {spec: {type: object, properties: {a: {type: string}}},\n" +
		"status: {type: object, properties: {phase: {type: string, maxLength: 9}}}}")
	return strings.Replace(file, "{name: widgets.example.com}", "{name: widgets.example.com, annotations: {"+name+": \""+value+"\"}}", 1)
}

// root is the path of the schema.
const root = "spec.versions[0].schema.openAPIV3Schema."

func TestCheck(t *testing.T) {
	tests := map[string]struct {
		file string
		// want has a line per finding: line, column, severity, rule, path without root, and message;
		// then the fix, with an exclamation mark if there are edits.
		want []string
	}{
		"nothing": {file: definitionOf(`properties: {spec: {type: object}}`)},
		"an unknown keyword": {
			file: definitionOf("properties: {spec: {type: string,\n x-kubernetes-imutable: true}}"),
			want: []string{
				"10:2 error unknown-field properties[spec].x-kubernetes-imutable: " +
					"is no field: kubectl refuses it, and the server drops it",
				"write x-kubernetes-immutable instead of x-kubernetes-imutable",
			},
		},
		"an unknown field": {
			file: strings.Replace(definitionOf(`properties: {}`), "served: true", "serve: true, served: true", 1),
			want: []string{"8:25 error unknown-field spec.versions[0].serve: is no field: kubectl refuses it, and the server drops it"},
		},
		"a wrong type": {
			file: strings.Replace(definitionOf(`properties: {}`), "served: true", "served: \"on\"", 1),
			want: []string{"8:25 error field-type spec.versions[0].served: must be a boolean, not string"},
		},
		"a wrong type in a schema": {
			file: definitionOf(`properties: {spec: {type: [string]}}`),
			want: []string{"9:21 error schema properties[spec].type: Invalid value: must be a string, not a list"},
		},
		"a wrong name": {
			file: strings.Replace(definitionOf(`properties: {}`), "widgets.example.com", "gadgets.example.com", 1),
			want: []string{`3:12 error definition metadata.name: Invalid value: "gadgets.example.com": ` +
				`must be spec.names.plural+"."+spec.group`},
		},
		"an unknown version": {
			file: strings.Replace(definitionOf(`properties: {}`), "k8s.io/v1", "k8s.io/v2", 1),
			want: []string{"1:1 error field-type apiVersion: apiextensions.k8s.io/v2: " +
				"must be apiextensions.k8s.io/v1 or apiextensions.k8s.io/v1beta1"},
		},
		"a marker that is false": {
			file: definitionOf(`properties: {spec: {type: string, x-kubernetes-immutable: false}}`),
			want: []string{
				"9:35 error marker properties[spec].x-kubernetes-immutable: " +
					"Forbidden: must be true or absent: false cannot undo a marker around it",
				"!remove x-kubernetes-immutable",
			},
		},
		"two markers": {
			file: definitionOf("properties: {spec: {type: object, additionalProperties: {type: string},\n" +
				"x-kubernetes-immutable-keys: true, x-kubernetes-addition-only: true}}"),
			want: []string{
				"10:36 error marker properties[spec].x-kubernetes-addition-only: " +
					"Forbidden: only one marker may stand on a node, and x-kubernetes-immutable-keys does already",
				"!remove x-kubernetes-addition-only: x-kubernetes-immutable-keys covers it",
			},
		},
		"keys of a set": {
			file: definitionOf("properties: {spec: {type: array, items: {type: string}, x-kubernetes-list-type: set,\n" +
				"x-kubernetes-immutable-keys: true}}"),
			want: []string{
				"10:1 error marker properties[spec].x-kubernetes-immutable-keys: " +
					"Forbidden: the items of a list of type set are its keys: use x-kubernetes-immutable",
				"!rename it to x-kubernetes-immutable",
			},
		},
		"keys that are not marked": {
			file: definitionOf("properties: {spec: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [id],\n" +
				"x-kubernetes-addition-only: true, items: {type: object, required: [id], properties: {id: {type: string}}}}}"),
			want: []string{
				"10:1 error marker properties[spec].x-kubernetes-addition-only: " +
					`Forbidden: needs x-kubernetes-immutable on the items or on their key "id"`,
				"!add x-kubernetes-immutable: true to id of the items",
			},
		},
		"a default": {
			file: definitionOf(`properties: {spec: {type: string, default: 5}}`),
			want: []string{"9:35 error default properties[spec].default: " +
				`Invalid value: "integer":  in body must be of type string: "integer"`},
		},
		"a rule that does not compile": {
			file: definitionOf("properties: {spec: {type: string,\n x-kubernetes-validations: [{rule: self = 'a'}]}}"),
			want: []string{"10:30 error cel-rule properties[spec].x-kubernetes-validations[0].rule: " +
				`Invalid value: "self = 'a'": compilation failed: ERROR: <input>:1:6: Syntax error: token recognition error at: '= '`},
		},
		"an escape": {
			file: definitionOf("required: [spec], properties: {spec: {type: object, properties: {o: {type: object, properties: {\n" +
				"a: {type: string, x-kubernetes-immutable: true}}}}}}"),
			want: []string{
				"10:1 warning escape properties[spec].properties[o].properties[a]: " +
					"immutable, but spec.o is optional: it can be removed and then set again with another value",
				`make spec.o required; or write x-kubernetes-update: [NoUnset] on spec.o, or no-unset in the annotation; or for every Kubernetes server: ` +
					`add the rule "!has(oldSelf.o) || has(self.o)" to spec`,
			},
		},
		"an escape from a rule": {
			file: definitionOf("required: [spec], properties: {spec: {type: object, properties: {\n" +
				"a: {type: string, maxLength: 9, x-kubernetes-validations: [{rule: self == oldSelf}]}}}}"),
			want: []string{
				"10:1 warning escape-cel properties[spec].properties[a]: immutable by the rule \"self == oldSelf\", " +
					"but spec.a is optional: it can be removed and then set again with another value",
				`make spec.a required; or add x-kubernetes-immutable: true to spec.a; or for every Kubernetes server: ` +
					`add the rule "!has(oldSelf.a) || has(self.a)" to spec`,
			},
		},
		"an escape from a rule with &&": {
			file: definitionOf("required: [spec], properties: {spec: {type: object, required: [b], properties: {\n" +
				"a: {type: object, x-kubernetes-validations: [{rule: 'self.b == oldSelf.b && self.c < 5'}],\n" +
				"required: [b, c], properties: {b: {type: integer}, c: {type: integer}}}, b: {type: string}}}}"),
			want: []string{
				"11:32 warning escape-cel properties[spec].properties[a].properties[b]: " +
					"immutable by the rule \"self.b == oldSelf.b && self.c < 5\", " +
					"but spec.a is optional: it can be removed and then set again with another value",
				`make spec.a required; or write x-kubernetes-update: [NoUnset] on spec.a, or no-unset in the annotation; or for every Kubernetes server: ` +
					`add the rule "!has(oldSelf.a) || has(self.a)" to spec`,
			},
		},
		"values of a map": {
			file: definitionOf("required: [spec], properties: {spec: {type: object,\n" +
				"additionalProperties: {type: string, x-kubernetes-immutable: true}}}"),
			want: []string{
				"10:1 note escape-item properties[spec].additionalProperties: " +
					"immutable, but a key of spec can be removed and then set again with another value",
				`add x-kubernetes-addition-only: true to spec; or for every Kubernetes server: ` +
					`add the rule "oldSelf.all(k, k in self)" to spec`,
			},
		},
		"no-modify": {
			file: definitionOf("required: [spec], properties: {spec: {type: object,\nproperties: {a: {type: string, x-kubernetes-update: [NoModify]}}}}"),
			want: []string{
				"10:14 warning escape properties[spec].properties[a]: " +
					"no-modify, but spec.a is optional: it can be removed and then set again with another value",
				`make spec.a required; or write x-kubernetes-update: [NoUnset, NoModify] on spec.a, or set-once in the annotation; or for every Kubernetes server: ` +
					`add the rule "!has(oldSelf.a) || has(self.a)" to spec`,
			},
		},
		"a misspelled constraint": {
			file: definitionOf("properties: {spec: {type: string,\nx-kubernetes-update: [NoUnSet, NoModfy, Never]}}"),
			want: []string{
				"10:1 error marker properties[spec].x-kubernetes-update: Forbidden: " +
					`must be a set of NoSet, NoUnset, NoModify, NoAddItem, NoRemoveItem, and has "NoUnSet"`,
				"write NoUnset instead of NoUnSet; write NoModify instead of NoModfy",
			},
		},
		"misspelled lines": {
			file: withAnnotation("holdfast.dev/immutability", "setOnce spec.a\\nv1: Immutable spec.a\\nupdate=NoSett spec.a\\nnone spec.a"),
			want: []string{
				"3:53 error marker metadata.annotations[holdfast.dev/immutability]: Invalid value: line 1: \"setOnce\": " +
					"must be immutable, set-once, no-set, no-unset, no-modify, immutable-keys, addition-only, deletion-only, no-delete or update=",
				"write set-once instead of setOnce; write immutable instead of Immutable; write NoSet instead of NoSett",
			},
		},
		"wrong references": {
			file: withAnnotation("holdfast.dev/references", "Secret spec.a\\nSecrets spec.a"),
			want: []string{
				"3:53 error definition metadata.annotations[holdfast.dev/references]: Invalid value: line 2: \"Secrets\" " +
					"is not one of ConfigMap, Secret, PodTemplate, PodSpec, Strings",
			},
		},
		"references at places that do not exist": {
			file: withAnnotation("holdfast.dev/references", "Secret spec.a\\nConfigMap spec.b[*].name\\nPodTemplate spec"),
			want: []string{
				"3:53 warning reference-place metadata.annotations[holdfast.dev/references]: ConfigMap spec.b[*].name: no version has this field",
				"correct the path, or remove the line",
				"3:53 warning reference-place metadata.annotations[holdfast.dev/references]: PodTemplate spec: " +
					"no version has containers there, so it is not that of pods",
				"correct the path, or remove the line",
			},
		},
		"a misspelled annotation": {
			file: withAnnotation("holdfast.dev/immutable", "immutable spec.a"),
			want: []string{
				"3:53 warning annotation-name metadata.annotations[holdfast.dev/immutable]: " +
					"the server does not read this annotation, so it protects nothing",
				"write holdfast.dev/immutability instead of holdfast.dev/immutable",
			},
		},
		"conditions": {
			file: withAnnotation("holdfast.dev/immutability", "set-once spec.a while oldSelf.status.phase == 'x'\\n"+
				"no-delete while has(oldSelf.status) && oldSelf.status.phase == 'x'\\nno-modify metadata.labels.team\\n"+
				"no-modify spec.a unless move while has(oldSelf.status)"),
			want: []string{
				"3:53 warning condition-optional metadata.annotations[holdfast.dev/immutability]: no-delete while has(oldSelf.status) && " +
					"oldSelf.status.phase == 'x': oldSelf.status.phase is optional: the rule also holds if it is absent",
				"protect it: has(oldSelf.status.phase) && ..., or !has(oldSelf.status.phase) || ...",
				"3:53 warning escape metadata.annotations[holdfast.dev/immutability]: " +
					"no-modify metadata.labels.team: it can be removed and then set again with another value",
				"write set-once",
				"3:53 warning condition-optional metadata.annotations[holdfast.dev/immutability]: " +
					"set-once spec.a while oldSelf.status.phase == 'x': oldSelf.status is optional: the rule also holds if it is absent",
				"protect it: has(oldSelf.status) && ..., or !has(oldSelf.status) || ...",
				"3:53 warning condition-optional metadata.annotations[holdfast.dev/immutability]: " +
					"set-once spec.a while oldSelf.status.phase == 'x': oldSelf.status.phase is optional: the rule also holds if it is absent",
				"protect it: has(oldSelf.status.phase) && ..., or !has(oldSelf.status.phase) || ...",
				"9:66 warning escape properties[spec].properties[a]: " +
					"no-modify, but spec.a is optional: it can be removed and then set again with another value",
				`make spec.a required; or write x-kubernetes-update: [NoUnset, NoModify] on spec.a, or set-once in the annotation; or for every Kubernetes server: ` +
					`add the rule "!has(oldSelf.a) || has(self.a)" to spec`,
			},
		},
		"a status": {
			file: definitionOf(`properties: {status: {type: object, properties: {a: {type: string, x-kubernetes-immutable: true}}}}`),
			want: []string{
				"9:50 warning status-trap properties[status].properties[a]: " +
					"immutable under status: it can only be set by the write that sets the status for the first time",
				"9:50 warning escape properties[status].properties[a]: " +
					"immutable, but status is optional: it can be removed and then set again with another value",
				`write x-kubernetes-update: [NoUnset] on status, or no-unset in the annotation; or for every Kubernetes server: ` +
					`add the rule "!has(oldSelf.status) || has(self.status)" to the root`,
			},
		},
		"a status that stays": {
			file: definitionOf(`x-kubernetes-validations: [{rule: "!has(oldSelf.status) || has(self.status)"}], ` +
				`properties: {status: {type: object, properties: {a: {type: string, x-kubernetes-immutable: true}}}}`),
			want: []string{
				"9:130 warning status-trap properties[status].properties[a]: " +
					"immutable under status: it can only be set by the write that sets the status for the first time",
			},
		},
		"a format": {
			file: definitionOf(`properties: {spec: {type: string, format: colour}}`),
			want: []string{`9:35 warning unknown-format properties[spec].format: unrecognized format "colour"`},
		},
		"not portable": {
			file: definitionOf("properties: {spec: {\nadditionalProperties: false, properties: {a: {type: string}}}}"),
			want: []string{
				"9:14 note not-portable properties[spec].type: " +
					"Required value: must not be empty for specified object fields (in Kubernetes; this server accepts it)",
				"10:1 note not-portable properties[spec].additionalProperties: " +
					"Forbidden: additionalProperties and properties are mutual exclusive (in Kubernetes; this server accepts it)",
				"!remove additionalProperties: unknown fields are pruned anyway",
			},
		},
		"v1beta1": {
			file: "apiVersion: apiextensions.k8s.io/v1beta1\nkind: CustomResourceDefinition\n" +
				"metadata: {name: widgets.example.com}\nspec:\n  group: example.com\n  names: {plural: widgets, kind: Widget}\n" +
				"  version: v1\n  validation:\n    openAPIV3Schema:\n      type: object\n      properties: {spec: {format: colour}}\n",
			want: []string{
				"1:1 warning v1beta1 apiVersion: Kubernetes does not serve apiextensions.k8s.io/v1beta1 since version 1.22",
				"convert the definition to apiextensions.k8s.io/v1",
				`11:27 warning unknown-format spec.validation.openAPIV3Schema.properties[spec].format: unrecognized format "colour"`,
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, f := range lint.Check(t.Context(), read(t, test.file)) {
				got = append(got, fmt.Sprintf("%d:%d %s %s %s: %s",
					f.Line, f.Column, f.Severity, f.Rule, strings.TrimPrefix(f.Path, root), firstLine(f.Message)))
				switch {
				case len(f.Edits) > 0:
					got = append(got, "!"+f.Fix)
				case f.Fix != "":
					got = append(got, f.Fix)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRules checks that every rule that Check uses is listed.
func TestRules(t *testing.T) {
	seen := map[string]bool{}
	for _, rule := range lint.Rules {
		if rule.Summary == "" || seen[rule.ID] {
			t.Errorf("rule %s is a duplicate, or has no summary", rule.ID)
		}
		seen[rule.ID] = true
	}
	files := []string{
		definitionOf("properties: {spec: {type: string, x-kubernetes-immutable: false, format: colour, nope: 1, default: 5}}"),
		definitionOf("properties: {spec: {type: object, additionalProperties: {type: string, x-kubernetes-immutable: true}}}"),
	}
	for _, file := range files {
		for _, f := range lint.Check(t.Context(), read(t, file)) {
			if !seen[f.Rule] {
				t.Errorf("rule %s is not listed", f.Rule)
			}
		}
	}
}

func read(t testing.TB, file string) manifest.Object {
	t.Helper()
	objects, err := manifest.Split("file.yaml", []byte(file))[0].Objects()
	if err != nil {
		t.Fatal(err)
	}
	return objects[0]
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
