package verdict_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/definition/verdict"
	"holdfast.dev/holdfast/internal/yamltest"
)

// define returns a definition with the given properties of the spec in v1, its storage version, and in v2.
func define(t *testing.T, one, two string) *definition.CustomResourceDefinition {
	t.Helper()
	crd := &definition.CustomResourceDefinition{}
	yamltest.Into(t, fmt.Sprintf(`
metadata: {name: boats.example.com}
spec:
  group: example.com
  names: {plural: boats, kind: Boat}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, %s}}}}}
  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, %s}}}}}`, one, two), crd)
	definition.SetDefaults(crd)
	definition.Write{APIVersion: definition.V1}.Prepare(crd)
	return crd
}

// A refusal shows the values of the object. Its cause has the fields of the schema and fixed texts, and nothing of the object.
func TestJudge(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ schema, spec, message, cause string }{
		"valid":            {"properties: {a: {type: string}}", "{a: secret}", "", ""},
		"a default":        {"required: [a], properties: {a: {type: string, default: x}}", "{}", "", ""},
		"a pruned field":   {"properties: {a: {type: string}}", "{secret: [1]}", "", ""},
		"required":         {"required: [a], properties: {a: {type: string}}", "{}", "spec.a: Required value", "spec.a: is required"},
		"required unnamed": {"required: [a], x-kubernetes-preserve-unknown-fields: true", "{}", "spec.a: Required value", "spec.a: is required"},
		"type": {
			"properties: {a: {type: integer}}", "{a: secret}",
			"spec.a: must be of type integer, not string", "spec.a: must be of type integer, not string",
		},
		"enum": {
			"properties: {a: {type: string, enum: [x]}}", "{a: secret}",
			`spec.a: Unsupported value: "secret": supported values: "x"`, "spec.a: is not one of the allowed values",
		},
		"pattern": {
			"properties: {a: {type: string, pattern: '^x$'}}", "{a: secret}",
			`spec.a: Invalid value: "secret": spec.a in body should match '^x$'`, "spec.a: does not match the pattern",
		},
		"format": {
			"properties: {a: {type: string, format: date-time}}", "{a: secret}",
			`spec.a: Invalid value: "secret": spec.a in body must be of type date-time: "secret"`, "spec.a: has the wrong type or format",
		},
		"length":   {"properties: {a: {type: string, maxLength: 1}}", "{a: secret}", "spec.a: Too long: may not be more than 1 byte", "spec.a: is too long"},
		"short":    {"properties: {a: {type: string, minLength: 9}}", "{a: secret}", `spec.a: Invalid value: "secret": spec.a in body should be at least 9 chars long`, "spec.a: is too short"},
		"minimum":  {"properties: {a: {type: integer, minimum: 4}}", "{a: 3}", "spec.a: Invalid value: 3: spec.a in body should be greater than or equal to 4", "spec.a: is too small"},
		"maximum":  {"properties: {a: {type: integer, maximum: 2}}", "{a: 3}", "spec.a: Invalid value: 3: spec.a in body should be less than or equal to 2", "spec.a: is too large"},
		"multiple": {"properties: {a: {type: integer, multipleOf: 2}}", "{a: 3}", "spec.a: Invalid value: 3: spec.a in body should be a multiple of 2", "spec.a: is not a multiple of the allowed number"},
		"items":    {"properties: {a: {type: array, items: {type: string}, minItems: 2}}", "{a: [secret]}", "", "spec.a: has too few items"},
		"many":     {"properties: {a: {type: array, items: {type: string}, maxItems: 0}}", "{a: [secret]}", "spec.a: Too many: 1: must have at most 0 items", "spec.a: has too many items"},
		"a set":    {"properties: {a: {type: array, x-kubernetes-list-type: set, items: {type: string}}}", "{a: [secret, secret]}", `spec.a[1]: Duplicate value: "secret"`, "spec.a[*]: is a duplicate"},
		"in a list": {
			"properties: {a: {type: array, items: {type: object, required: [b], properties: {b: {type: string}}}}}", "{a: [{b: x}, {}]}",
			"spec.a[1].b: Required value", "spec.a[*].b: is required",
		},
		"in a map": {
			"properties: {a: {type: object, additionalProperties: {type: object, required: [b], properties: {b: {type: string}}}}}", "{a: {secret.com/x: {}}}",
			"spec.a.secret.com/x.b: Required value", "spec.a.*.b: is required",
		},
		"a value of a map": {
			"properties: {a: {type: object, additionalProperties: {type: string, maxLength: 1}}}", "{a: {b.secret: secret}}",
			"spec.a.b.secret: Too long: may not be more than 1 byte", "spec.a.*: is too long",
		},
		"a key of a map that is wrong": {
			"properties: {a: {type: object, additionalProperties: {type: integer}}}", "{a: {secret: x}}",
			"spec.a.secret: must be of type integer, not string", "spec.a.*: must be of type integer, not string",
		},
		"a rule": {
			"x-kubernetes-validations: [{rule: self.a != 'secret', message: ' a is wrong '}], properties: {a: {type: string}}", "{a: secret}",
			"spec: Invalid value: a is wrong", "spec: a is wrong",
		},
		"a rule without a message": {
			"x-kubernetes-validations: [{rule: ' size(self.a) > 9'}], properties: {a: {type: string}}", "{a: secret}",
			"spec: Invalid value: failed rule: size(self.a) > 9", "spec: failed rule: size(self.a) > 9",
		},
		"a rule with a computed message": {
			`x-kubernetes-validations: [{rule: size(self.a) > 9, messageExpression: "'not ' + self.a"}], properties: {a: {type: string}}`, "{a: secret}",
			"spec: Invalid value: not secret", "spec: is invalid",
		},
		"a rule in a map": {
			"properties: {a: {type: object, additionalProperties: {type: string, x-kubernetes-validations: [{rule: self != 'secret'}]}}}", "{a: {s: secret}}",
			"spec.a[s]: Invalid value: \"secret\": failed rule: self != 'secret'", "spec.a.*: failed rule: self != 'secret'",
		},
		"a rule that fails": {
			"x-kubernetes-validations: [{rule: \"self.a['other'] == 'x'\"}], properties: {a: {type: object, additionalProperties: {type: string}}}", "{a: {s: secret}}",
			"", "spec: is invalid",
		},
		"oneOf": {
			"oneOf: [{required: [a]}, {required: [b]}], properties: {a: {type: string}, b: {type: string}}", "{a: secret, b: secret}",
			"", "does not validate against oneOf",
		},
		"rules that did not run": {
			"x-kubernetes-validations: [{rule: self.b != 'x'}], required: [b], properties: {b: {type: string}}", "{}",
			"spec.b: Required value", "spec.b: is required",
		},
	} {
		judge, err := verdict.Compile(define(t, test.schema, "x-kubernetes-preserve-unknown-fields: true"))
		if err != nil {
			t.Fatal(err)
		}
		object := yamltest.Object(t, "{apiVersion: example.com/v1, kind: Boat, metadata: {name: anna}, spec: "+test.spec+"}")
		before := object.DeepCopy()
		var messages, causes []string
		for _, refusal := range judge.Judge(t.Context(), object.Object) {
			messages = append(messages, refusal.Path+": "+refusal.Message)
			if cause := judge.Cause(refusal).String(); !slices.Contains(causes, cause) {
				causes = append(causes, cause)
			}
		}
		if got := strings.Join(messages, "; "); test.message != "" && got != test.message {
			t.Errorf("%s: message %s, want %s", name, got, test.message)
		}
		if got := strings.Join(causes, "; "); got != test.cause {
			t.Errorf("%s: cause %s, want %s", name, got, test.cause)
		}
		if diff := cmp.Diff(before.Object, object.Object); diff != "" {
			t.Errorf("%s: the object has changed: %s", name, diff)
		}
	}
}

// An object is judged by the storage version, also if it is stored in another one. If a webhook converts objects, it is judged by its
// own version.
func TestJudgeVersions(t *testing.T) {
	t.Parallel()
	crd := define(t, "required: [a], properties: {a: {type: string}}", "required: [b], properties: {a: {type: string}, b: {type: string}}")
	judged := func(what, version, spec, want string) {
		t.Helper()
		judge, err := verdict.Compile(crd)
		if err != nil {
			t.Fatal(err)
		}
		var causes []string
		for _, refusal := range judge.Judge(t.Context(), yamltest.Object(t, "{apiVersion: example.com/"+version+", kind: Boat, metadata: {name: anna}, spec: "+spec+"}").Object) {
			causes = append(causes, judge.Cause(refusal).String())
		}
		if got := strings.Join(causes, "; "); got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	judged("stored in the storage version", "v1", "{a: x}", "")
	judged("stored in another version, valid in the storage version", "v2", "{a: x}", "")
	judged("stored in another version, valid there only", "v2", "{b: x}", "spec.a: is required")
	judged("stored in a version that is gone", "v0", "{a: x}", "the definition has no version v0, in which the object is stored")
	yamltest.Into(t, "{strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: https://example.com}}}", &crd.Spec.Conversion)
	judged("with a webhook", "v2", "{b: x}", "")
	judged("with a webhook, invalid", "v2", "{a: x}", "spec.b: is required")
}

// A key of a map that looks like the path of a field costs a bounded time, and does not get into a cause.
func TestCauseOfHostileKeys(t *testing.T) {
	t.Parallel()
	nested := "{type: object, additionalProperties: {type: object, additionalProperties: {type: object, additionalProperties: {type: integer}}}}"
	judge, err := verdict.Compile(define(t, "properties: {a: "+nested+"}", "properties: {}"))
	if err != nil {
		t.Fatal(err)
	}
	key := strings.Repeat("a.", 10000)
	object := map[string]any{"apiVersion": "example.com/v1", "kind": "Boat", "metadata": map[string]any{"name": "anna"}, "spec": map[string]any{
		"a": map[string]any{key: map[string]any{key: map[string]any{key: "secret"}}},
	}}
	refusals := judge.Judge(t.Context(), object)
	if len(refusals) != 1 {
		t.Fatalf("%d refusals", len(refusals))
	}
	if cause := judge.Cause(refusals[0]); strings.Trim(cause.Path, "spec.a*") != "" || len(cause.Path) > 20 {
		t.Errorf("cause %+v", cause)
	}
}
