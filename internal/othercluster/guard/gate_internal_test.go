package guard

import (
	"testing"

	"github.com/google/cel-go/cel"

	"holdfast.dev/holdfast/internal/yamltest"
)

// A policy that another API server has stored may be unknown. Then changes are not judged, and the audit says so.
func TestAuditUnknownPolicy(t *testing.T) {
	a := &audit{}
	a.definition(yamltest.Object(t, `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: boats.example.com, `+
		`annotations: {holdfast.dev/definition-policy: never}}, spec: {group: example.com, scope: Namespaced, names: {plural: boats, kind: Boat}, `+
		`versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}`))
	if len(a.found) != 1 || a.found[0].Rule != withoutEffect || a.found[0].Path != "metadata.annotations[holdfast.dev/definition-policy]" ||
		a.found[0].Message != `Unsupported value: "never": supported values: "warn", "refuse-loss", "refuse-breaking"` || len(a.gated) != 0 {
		t.Errorf("%+v, %v", a.found, a.gated)
	}
}

// TestGateConditions checks for which writes the API server calls the webhook.
func TestGateConditions(t *testing.T) {
	env, err := cel.NewEnv(cel.Variable("object", cel.DynType), cel.Variable("oldObject", cel.DynType), cel.Variable("request", cel.DynType))
	if err != nil {
		t.Fatal(err)
	}
	const spec, status = "spec: {a: 1}, status: {storedVersions: [v1]}", "spec: {a: 1}, status: {storedVersions: [v2]}"
	const loss, breaking = "{holdfast.dev/definition-policy: refuse-loss}", "{holdfast.dev/definition-policy: refuse-breaking}"
	object := func(annotations, content string) any {
		return yamltest.Map(t, "{metadata: {annotations: "+annotations+"}, "+content+"}")
	}
	for name, test := range map[string]struct {
		was, is     any
		subresource string
		want        bool
	}{
		"a new definition":                   {nil, object(loss, spec), "", false},
		"a new definition, wrong":            {nil, object("{holdfast.dev/definition-policy: ''}", spec), "", true},
		"no annotations":                     {object("null", spec), object("null", "spec: {a: 2}"), "", false},
		"warn":                               {object("{holdfast.dev/definition-policy: warn}", spec), object("{}", "spec: {a: 2}"), "", false},
		"wrong, as before":                   {object("{holdfast.dev/definition-policy: x}", spec), object("{holdfast.dev/definition-policy: x}", "spec: {a: 2}"), "", false},
		"wrong from now on":                  {object("{}", spec), object("{holdfast.dev/definition-policy: x}", spec), "", true},
		"the spec":                           {object(loss, spec), object(loss, "spec: {a: 2}"), "", true},
		"the same":                           {object(breaking, spec), object(breaking, spec), "", false},
		"stronger":                           {object(loss, spec), object(breaking, spec), "", true},
		"gone":                               {object(breaking, spec), object("null", spec), "", true},
		"first":                              {object("null", spec), object(loss, "spec: {a: 2}"), "", false},
		"another annotation":                 {object(loss, spec), object("{a: b, holdfast.dev/definition-policy: refuse-loss}", spec), "", false},
		"the rules":                          {object(loss, spec), object("{holdfast.dev/immutability: r, holdfast.dev/definition-policy: refuse-loss}", spec), "", true},
		"the status":                         {object(loss, spec), object(loss, spec), "status", false},
		"the stored versions":                {object(loss, spec), object(loss, status), "status", true},
		"the policy, through the status":     {object(loss, spec), object("{}", spec), "status", true},
		"a wrong policy, through the status": {object("{}", spec), object("{holdfast.dev/definition-policy: x}", spec), "status", true},
		"the rules, through the status":      {object("{holdfast.dev/immutability: r, holdfast.dev/definition-policy: refuse-loss}", spec), object(loss, spec), "status", true},
		"a label, through the status":        {object(loss, spec), object("{a: b, holdfast.dev/definition-policy: refuse-loss}", spec), "status", false},
		"the stored versions, with warn":     {object("{}", spec), object("{}", status), "status", false},
	} {
		request := map[string]any{}
		if test.subresource != "" {
			request["subResource"] = test.subresource
		}
		called := true
		for _, condition := range (wanted{}).gate().MatchConditions {
			parsed, issues := env.Compile(condition.Expression)
			if issues.Err() != nil {
				t.Fatal(issues.Err())
			}
			program, err := env.Program(parsed)
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := program.Eval(map[string]any{"object": test.is, "oldObject": test.was, "request": request})
			if err != nil {
				t.Fatalf("%s: %s: %v", name, condition.Name, err)
			}
			called = called && got.Value() == true
		}
		if called != test.want {
			t.Errorf("%s: the API server calls the webhook: %t", name, called)
		}
	}
}
