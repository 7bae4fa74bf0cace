package render_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/operator/render"
	"holdfast.dev/holdfast/internal/yamltest"
)

func TestDependency(t *testing.T) {
	tests := map[string]struct {
		task, file string
		want, err  string
	}{
		"only the package": {
			task: `{package: zk}`,
			want: `{apiVersion: kudo.dev/v1beta1, kind: Instance, metadata: {name: kafka-zk}, spec: {operatorVersion: {name: zk-0.1.0}}}`,
		},
		"a name for the instance": {
			task: `{package: zk, instanceName: 'the-{{ .Name }}'}`,
			want: `{apiVersion: kudo.dev/v1beta1, kind: Instance, metadata: {name: the-kafka}, spec: {operatorVersion: {name: zk-0.1.0}}}`,
		},
		"values are stored as text, with consent": {
			task: `{package: zk, parameterFile: p.yaml}`,
			file: "SIZE: {{ .Params.SIZE }}\nBIG: 9007199254740993\nHALF: 0.5\nFLAG: true\nNAME: \"3\"\nHOSTS: [a, 1]\nLABELS: {a: b}\n" +
				"NONE: null\nEMPTY: \"\"\n",
			want: `{apiVersion: kudo.dev/v1beta1, kind: Instance,
				metadata: {name: kafka-zk, annotations: {holdfast.dev/given-parameters: '` +
				`{"operatorVersion":"zk-0.1.0","names":["BIG","EMPTY","FLAG","HALF","HOSTS","LABELS","NAME","SIZE"]}'}},
				spec: {operatorVersion: {name: zk-0.1.0}, parameters: {SIZE: "7", BIG: "9007199254740993", HALF: "0.5", FLAG: "true", NAME: "3",
				HOSTS: '["a",1]', LABELS: '{"a":"b"}', EMPTY: ""}}}`,
		},
		"no such file": {task: `{package: zk, parameterFile: q.yaml}`, err: "there is no template q.yaml"},
		"not an object": {
			task: `{package: zk, parameterFile: p.yaml}`,
			file: "[a]",
			err:  "p.yaml: not an object of names and values: json: cannot unmarshal array into Go value of type map[string]json.RawMessage",
		},
		"not YAML": {task: `{package: zk, parameterFile: p.yaml}`, file: "a: [", err: "p.yaml: yaml: line 1: did not find expected node content"},
		"a template that fails": {
			task: `{package: zk, instanceName: '{{ .Nothing }}'}`,
			err:  `instanceName:1:3: executing "instanceName" at <.Nothing>: map has no entry for key "Nothing"`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := render.Dependency{OperatorVersion: "zk-0.1.0", Templates: map[string]string{"p.yaml": test.file}}
			if err := yaml.UnmarshalStrict([]byte(test.task), &d.Task); err != nil {
				t.Fatal(err)
			}
			got, err := d.Instance(t.Context(), render.Values{Name: "kafka", Params: map[string]any{"SIZE": "7"}})
			if test.err != "" {
				if err == nil || err.Error() != test.err {
					t.Errorf("got %v, want %s", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := yamltest.Map(t, test.want)
			if diff := cmp.Diff(want, got.Object); diff != "" {
				t.Errorf("instance (-want +got):\n%s", diff)
			}
			if got.GetKind() != "Instance" || got.GroupVersionKind().GroupVersion() != api.GroupVersion {
				t.Errorf("kind %s", got.GroupVersionKind())
			}
		})
	}
}
