package pack_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/operator/pack"
)

// TestVerify checks the findings of packages, with their severity and order.
func TestVerify(t *testing.T) {
	tests := map[string]struct {
		operator, params string
		templates        map[string]string
		want             []string
	}{
		"clean": {
			operator: small, params: "parameters: [{name: A, default: b, immutable: true}]", templates: map[string]string{
				"app.yaml": "{{ .Params.A }}",
			},
		},
		"immutable without a value": {
			operator: small, params: "parameters: [{name: X, required: false, immutable: true}]", templates: map[string]string{
				"app.yaml": "{{ .Params.X }}",
			},
			want: []string{`error: params.yaml: parameters[0]: parameter "X" is immutable but is not marked as required or has a default value`},
		},
		"immutable and required, or with a default": {
			operator: small, params: "parameters: [{name: X, immutable: true}, {name: Z, required: false, immutable: true, default: ''}]",
			templates: map[string]string{"app.yaml": "{{ .Params.X }}{{ .Params.Z }}"},
		},
		"names": {
			operator: "name: Not_A_Name\noperatorVersion: newest\nplans: {deploy: {phases: [{name: a, steps: [{name: a, tasks: [t]}]}]}}\n" +
				"tasks: [{name: t, kind: Dummy}]",
			want: []string{
				`error: operator.yaml: name: "Not_A_Name" is not a name: a lowercase RFC 1123 label must consist of lower case alphanumeric ` +
					`characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for ` +
					`validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`,
				`error: operator.yaml: operatorVersion: "newest" is not a semantic version`,
				`error: operator.yaml: appVersion: the operator version would be named "Not_A_Name-newest": a lowercase RFC 1123 subdomain must ` +
					`consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. ` +
					`'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
			},
		},
		"an empty operator.yaml": {
			operator: "{}",
			want: []string{
				"error: operator.yaml: name: required", "error: operator.yaml: operatorVersion: required", "error: operator.yaml: plans: there is " +
					"no plan deploy",
			},
		},
		"plans": {
			operator: `
name: tok
operatorVersion: 0.1.0
tasks: [{name: t, kind: Dummy}]
plans:
  deploy: {strategy: quick, phases: [
    {steps: []}, {name: a, strategy: slow, steps: [{name: s}, {name: s, tasks: [gone, t]}]}, {name: a, steps: [{tasks: [t]}]}]}
  update: {}
`,
			want: []string{
				`error: operator.yaml: plans.deploy.strategy: "quick" is neither serial nor parallel`,
				`error: operator.yaml: plans.deploy.phases[0].name: required`,
				`error: operator.yaml: plans.deploy.phases[0].steps: a phase has at least one step`,
				`error: operator.yaml: plans.deploy.phases[1].strategy: "slow" is neither serial nor parallel`,
				`error: operator.yaml: plans.deploy.phases[1].steps[0].tasks: a step has at least one task`,
				`error: operator.yaml: plans.deploy.phases[1].steps[1].name: "s" is there twice`,
				`error: operator.yaml: plans.deploy.phases[1].steps[1].tasks[0]: there is no task "gone"`,
				`error: operator.yaml: plans.deploy.phases[2].name: "a" is there twice`,
				`error: operator.yaml: plans.deploy.phases[2].steps[0].name: required`,
				`error: operator.yaml: plans.update.phases: a plan has at least one phase`,
			},
		},
		"tasks": {
			operator: `
name: tok
operatorVersion: 0.1.0
tasks:
- {name: a, kind: Apply, spec: {resources: [gone.yaml]}}
- {name: a, kind: Delete}
- {name: toggle, kind: Toggle, spec: {resources: [app.yaml], parameter: GONE}}
- {name: toggle2, kind: Toggle}
- {name: pipe, kind: Pipe, spec: {pipe: [{file: a, envFile: b, kind: Pod, key: "a b"}]}}
- {name: pipe2, kind: Pipe, spec: {pod: pod.yaml}}
- {name: child, kind: KudoOperator, spec: {parameterFile: gone.yaml}}
- {name: odd, kind: Odd}
- {name: none}
- {}
plans: {deploy: {phases: [{name: p, steps: [{name: s, tasks: [a, toggle, toggle2, pipe, pipe2, child, odd, none]}]}]}}
`,
			templates: map[string]string{"app.yaml": ""},
			want: []string{
				`error: operator.yaml: tasks[0].spec.resources[0]: there is no file templates/gone.yaml`,
				`error: operator.yaml: tasks[1].name: "a" is there twice`,
				`error: operator.yaml: tasks[1].spec.resources: required for Delete`,
				`error: operator.yaml: tasks[2].spec.parameter: there is no parameter "GONE"`,
				`error: operator.yaml: tasks[3].spec.resources: required for Toggle`,
				`error: operator.yaml: tasks[3].spec.parameter: required for Toggle`,
				`error: operator.yaml: tasks[4].spec.pod: required for Pipe`,
				`error: operator.yaml: tasks[4].spec.pipe[0]: either file or envFile is needed`,
				`error: operator.yaml: tasks[4].spec.pipe[0].kind: "Pod" is neither Secret nor ConfigMap`,
				`error: operator.yaml: tasks[4].spec.pipe[0].key: "a b" is not made of letters, digits, _ and -`,
				`error: operator.yaml: tasks[5].spec.pod: there is no file templates/pod.yaml`,
				`error: operator.yaml: tasks[5].spec.pipe: required for Pipe`,
				`error: operator.yaml: tasks[6].spec.package: required for KudoOperator`,
				`error: operator.yaml: tasks[6].spec.parameterFile: there is no file templates/gone.yaml`,
				`error: operator.yaml: tasks[7].kind: "Odd" is not one of Apply, Delete, Toggle, Pipe, KudoOperator, Dummy`,
				`error: operator.yaml: tasks[8].kind: required`,
				`error: operator.yaml: tasks[9].name: required`,
				`error: operator.yaml: tasks[9].kind: required`,
			},
		},
		"parameters": {
			operator: small,
			params: `
parameters:
- {default: a}
- {name: A, default: x, type: integer}
- {name: A, default: 1, type: float}
- {name: B, default: {a: b}}
- {name: C, default: blue, enum: [red, green], trigger: paint}
- {name: D, enum: [x], type: integer}
- {name: E, enum: [], group: gone}
`,
			templates: map[string]string{
				"app.yaml": `{{ .Params.A }}{{ $.Params.B }}{{ index .Params "C" }}{{ range .Params.D }}{{ get $.Params "E" }}{{ end }}`,
			},
			want: []string{
				`error: params.yaml: parameters[0].name: required`,
				`error: params.yaml: parameters[1].default: parameter 'A' has the value 'x', which is not of type integer`,
				`error: params.yaml: parameters[2].name: "A" is there twice`,
				`error: params.yaml: parameters[2].type: "float" is not one of string, integer, number, boolean, array, map`,
				`error: params.yaml: parameters[3].default: a list or an object needs type array or map, not ""`,
				`error: params.yaml: parameters[4].trigger: there is no plan "paint", only deploy`,
				`error: params.yaml: parameters[4].default: parameter 'C' has the value 'blue', allowed are 'red', 'green'`,
				`error: params.yaml: parameters[5].enum[0]: parameter 'D' has the value 'x', which is not of type integer`,
				`error: params.yaml: parameters[6].enum: no value is allowed`,
				`warning: params.yaml: parameters[6].group: there is no group "gone"`,
			},
		},
		"templates": {
			operator: small, params: "parameters: [{name: A, default: b}]",
			templates: map[string]string{
				"app.yaml": `{{ if .Params.A }}{{ else }}{{ (.Params.TYPO) | quote }}{{ end }}{{ template "x" $.Params.OTHER }}{{ define "x" }}{{ ` +
					`with .Params.THIRD }}{{ end }}{{ end }}`,
				"bad.yaml": "\n{{ .Params.A",
			},
			want: []string{
				`error: templates/app.yaml: there is no parameter "OTHER"`,
				`error: templates/app.yaml: there is no parameter "THIRD"`,
				`error: templates/app.yaml: there is no parameter "TYPO"`,
				`error: templates: bad.yaml:2: unclosed action`,
				`warning: templates/bad.yaml: no task uses this template`,
			},
		},
		"parts without effect": {
			operator:  small + "\nextra: 1\n",
			params:    "parameters: [{name: A, default: b, colour: red, name: B}, {name: RUN, default: '0', trigger: deploy}]",
			templates: map[string]string{"app.yaml": "", "old.yaml": ""},
			want: []string{
				`warning: operator.yaml: unknown field "extra"`,
				`warning: params.yaml: yaml: unmarshal errors:
  line 1: key "name" already set in map`,
				`warning: params.yaml: unknown field "parameters[0].colour"`,
				`warning: templates/old.yaml: no task uses this template`,
				`warning: params.yaml: parameters[0]: no template and no task uses parameter "B"`,
			},
		},
		"all parameters at once": {
			operator: small, params: "parameters: [{name: A, default: b}]", templates: map[string]string{"app.yaml": `{{ toYaml .Params }}`},
		},
		"a task that no plan uses": {
			operator: "name: tok\noperatorVersion: 0.1.0\ntasks: [{name: a, kind: Dummy}, {name: b, kind: Dummy}]\n" +
				"plans: {deploy: {phases: [{name: p, steps: [{name: s, tasks: [a]}]}]}}",
			want:      []string{`warning: operator.yaml: tasks[1]: no plan uses task "b"`},
			templates: nil,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			files := pack.Files{"operator.yaml": []byte(test.operator)}
			if test.params != "" {
				files["params.yaml"] = []byte(test.params)
			}
			for name, text := range test.templates {
				files["templates/"+name] = []byte(text)
			}
			p, err := files.Parse()
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			findings := p.Verify()
			failures := 0
			for _, finding := range findings {
				got = append(got, string(finding.Severity)+": "+finding.String())
				if finding.Severity == pack.Failure {
					failures++
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			if (findings.Err() != nil) != (failures > 0) {
				t.Errorf("%d failures, error %v", failures, findings.Err())
			}
		})
	}
}
