package pack_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/operator/pack"
)

// lines describes a package, with a line for each maintainer, task and parameter.
func lines(p *pack.Package) []string {
	operator, version := p.Resources("ns")
	all := []string{fmt.Sprintf("%s/%s of %s/%s", version.Namespace, version.Name, operator.Namespace, operator.Name)}
	for _, maintainer := range operator.Spec.Maintainers {
		all = append(all, fmt.Sprintf("by %s (%s)", maintainer.Name, maintainer.Email))
	}
	for _, task := range version.Spec.Tasks {
		all = append(all, fmt.Sprintf("task %s %s %v", task.Name, task.Kind, task.Spec.Resources))
	}
	for _, d := range version.Definitions().Definitions {
		preset := "none"
		if d.Default != nil {
			preset = fmt.Sprintf("%q", *d.Default)
		}
		all = append(all, fmt.Sprintf("%s %s default=%s required=%t immutable=%t trigger=%s enum=%q",
			d.Name, d.Type, preset, d.Required, d.Immutable, d.Trigger, d.Enum))
	}
	return all
}

// TestFormats decodes packages in the current format and in the older ones of KUDO.
func TestFormats(t *testing.T) {
	tests := map[string]struct {
		operator, params string
		want             []string
	}{
		"current": {
			operator: small,
			params: `
apiVersion: kudo.dev/v1beta1
groups: [{name: net, displayName: Network, prio: 10}]
parameters:
- {name: COUNT, type: integer, default: 3, description: How many., displayName: Count, group: net, advanced: true, hint: odd}
- {name: BIG, type: integer, default: 1000000}
- {name: CPUS, default: 0.25}
- {name: TEXT, default: "01", trigger: deploy}
- {name: ENABLED, type: boolean, default: true}
- {name: HOSTS, type: array, default: [a, 1, {b: c}]}
- {name: LABELS, type: map, default: {a: 1}, enum: [{a: 1}, {a: 2}]}
- {name: SPELLED, type: array, default: "[a, b]"}
- {name: NOTHING, required: false, default: null}
- {name: CLASS, immutable: true, enum: [ssd, hdd]}
`,
			want: []string{
				"ns/tok-1.0-0.1.0 of ns/tok",
				"task app Apply [app.yaml]",
				`COUNT integer default="3" required=true immutable=false trigger= enum=[]`,
				`BIG integer default="1000000" required=true immutable=false trigger= enum=[]`,
				`CPUS  default="0.25" required=true immutable=false trigger= enum=[]`,
				`TEXT  default="01" required=true immutable=false trigger=deploy enum=[]`,
				`ENABLED boolean default="true" required=true immutable=false trigger= enum=[]`,
				`HOSTS array default="[\"a\",1,{\"b\":\"c\"}]" required=true immutable=false trigger= enum=[]`,
				`LABELS map default="{\"a\":1}" required=true immutable=false trigger= enum=["{\"a\":1}" "{\"a\":2}"]`,
				`SPELLED array default="[a, b]" required=true immutable=false trigger= enum=[]`,
				`NOTHING  default=none required=false immutable=false trigger= enum=[]`,
				`CLASS  default=none required=true immutable=true trigger= enum=["ssd" "hdd"]`,
			},
		},
		"KUDO 0.8, with version": {
			operator: "name: cassandra\nversion: \"0.1.1\"\nappVersion: 3.11.5\nmaintainers: [{name: M, email: m@example.com}]\n",
			params:   "apiVersion: kudo.dev/v1beta1\nparameters:\n  - name: NODE_COUNT\n    default: \"3\"\n",
			want: []string{
				"ns/cassandra-3.11.5-0.1.1 of ns/cassandra", "by M (m@example.com)",
				`NODE_COUNT  default="3" required=true immutable=false trigger= enum=[]`,
			},
		},
		"the first format, with maps": {
			operator: "name: first-operator\nversion: 0.1.0\nmaintainers: [\"Your name <your@email.com>\", just me]\n" +
				"tasks: {nginx: {resources: [deployment.yaml]}, after: {resources: [job.yaml]}}\n",
			params: "replicas:\n  description: Number of replicas\n  default: 2\nNOTE:\n",
			want: []string{
				"ns/first-operator-0.1.0 of ns/first-operator", "by Your name (your@email.com)", "by just me ()",
				"task after Apply [job.yaml]", "task nginx Apply [deployment.yaml]",
				`NOTE  default=none required=true immutable=false trigger= enum=[]`,
				`replicas  default="2" required=true immutable=false trigger= enum=[]`,
			},
		},
		"no parameters": {operator: small, params: "{}", want: []string{"ns/tok-1.0-0.1.0 of ns/tok", "task app Apply [app.yaml]"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p, err := pack.Files{"operator.yaml": []byte(test.operator), "params.yaml": []byte(test.params)}.Parse()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, lines(p)); diff != "" {
				t.Errorf("package (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUnreadable(t *testing.T) {
	tests := map[string]struct{ operator, params, want string }{
		"not YAML":      {operator: "a: [", want: "operator.yaml: yaml: line 1: did not find expected node content"},
		"not an object": {operator: "[]", want: "operator.yaml: an object is expected"},
		"empty":         {operator: "", want: "operator.yaml: an object is expected"},
		"wrong type": {
			operator: "name: a\ntasks: [{name: a, kind: Apply, spec: {resources: a.yaml}}]",
			want:     "operator.yaml: tasks.spec.resources: string is not what is expected here",
		},
		"wrong type, parameter": {
			operator: small,
			params:   "parameters: [{name: A, immutable: sometimes}]",
			want:     "params.yaml: parameters.immutable: string is not what is expected here",
		},
		"another API": {
			operator: "apiVersion: kudo.dev/v1\nname: a",
			want:     `operator.yaml: apiVersion: "kudo.dev/v1" is not supported, only kudo.dev/v1beta1`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			files := pack.Files{"operator.yaml": []byte(test.operator)}
			if test.params != "" {
				files["params.yaml"] = []byte(test.params)
			}
			if _, err := files.Parse(); err == nil || err.Error() != test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}
