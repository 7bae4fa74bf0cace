package render_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/internal/operator/render"
	"holdfast.dev/holdfast/internal/yamltest"
)

func TestObjects(t *testing.T) {
	tests := map[string]struct {
		text string
		want []string
		err  string
	}{
		"none": {text: "\n# nothing\n---\n---\n"},
		"two": {
			text: "apiVersion: v1\nkind: A\nmetadata: {name: a}\n---\n# b\napiVersion: v1\nkind: B\nmetadata: {name: b}\n",
			want: []string{"A a", "B b"},
		},
		"a list": {
			text: "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: A, metadata: {name: a}}\n" +
				"- {apiVersion: v1, kind: B, metadata: {name: b}}\n",
			want: []string{"A a", "B b"},
		},
		"text":      {text: "---\nhello\n", err: `document 1: a Kubernetes object is expected, not "hello"`},
		"no object": {text: "a: b\n", err: "document 1: apiVersion: required\nkind: required\nmetadata: required"},
		"no name": {
			text: "apiVersion: v1\nkind: A\nmetadata: {name: a}\n---\napiVersion: v1\nkind: A\nmetadata: {name: 7}\n",
			err:  "document 2: metadata.name: required",
		},
		"missing in a list": {
			text: "apiVersion: v1\nkind: List\nitems: [{kind: A, metadata: {name: a}}]\n",
			err:  "document 1: items[0]: apiVersion: required",
		},
		"not YAML": {text: "a: [\n", err: "document 1: yaml: line 1: did not find expected node content"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			objects, err := render.Objects(test.text)
			message := ""
			if err != nil {
				message = err.Error()
			}
			var got []string
			for _, object := range objects {
				got = append(got, object.GetKind()+" "+object.GetName())
			}
			if test.err != "" {
				got = nil
			}
			if diff := cmp.Diff([]any{test.want, test.err}, []any{got, message}); diff != "" {
				t.Errorf("objects, error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLabel(t *testing.T) {
	const labels = `heritage: kudo, kudo.dev/operator: zookeeper, kudo.dev/instance: zk`
	const annotations = `kudo.dev/plan: deploy, kudo.dev/phase: main, kudo.dev/step: nodes, kudo.dev/operator-version: 0.1.0`
	tests := map[string]struct{ object, want string }{
		"stateful set": {
			object: `{apiVersion: apps/v1, kind: StatefulSet,
				metadata: {name: a, labels: {app: a, heritage: mine}, annotations: {b: c}, namespace: elsewhere},
				spec: {template: {metadata: {labels: {app: a}}},
				volumeClaimTemplates: [{metadata: {name: data}}, {metadata: {name: log, labels: {app: a}}}]}}`,
			want: `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a, namespace: prod, labels: {app: a, ` + labels +
				`}, annotations: {b: c, ` + annotations + `}},
				spec: {template: {metadata: {labels: {app: a, ` + labels + `}}},
				volumeClaimTemplates: [{metadata: {name: data, labels: {` + labels + `}}}, {metadata: {name: log, labels: {app: a, ` + labels +
				`}}}]}}`,
		},
		"deployment": {
			object: `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {template: {}}}`,
			want: `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: prod, labels: {` + labels + `}, annotations: {` +
				annotations + `}},
				spec: {template: {metadata: {labels: {` + labels + `}}}}}`,
		},
		"cron job": {
			object: `{apiVersion: batch/v1, kind: CronJob, metadata: {name: a}, spec: {jobTemplate: {spec: {template: {spec: {}}}}}}`,
			want: `{apiVersion: batch/v1, kind: CronJob, metadata: {name: a, namespace: prod, labels: {` + labels + `}, annotations: {` +
				annotations + `}},
				spec: {jobTemplate: {metadata: {labels: {` + labels + `}}, spec: {template: {metadata: {labels: {` + labels + `}}, spec: {}}}}}}`,
		},
		"without a template": {
			object: `{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {template: wrong}}`,
			want: `{apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: prod, labels: {` + labels + `}, annotations: {` + annotations +
				`}}, spec: {template: wrong}}`,
		},
		"cluster-scoped": {
			object: `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a}}`,
			want: `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a, labels: {` + labels + `}, annotations: {` +
				annotations + `}}}`,
		},
	}
	read := func(t *testing.T, text string) *unstructured.Unstructured {
		object := yamltest.Object(t, text)
		return object
	}
	meta := render.Meta{Operator: "zookeeper", Instance: "zk", Namespace: "prod", Plan: "deploy", Phase: "main", Step: "nodes", Version: "0.1.0"}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			object := read(t, test.object)
			if err := render.Label([]*unstructured.Unstructured{object}, meta, render.Builtin); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(read(t, test.want).Object, object.Object); diff != "" {
				t.Errorf("object (-want +got):\n%s", diff)
			}
		})
	}
	err := render.Label([]*unstructured.Unstructured{
		read(t, `{apiVersion: example.com/v1, kind: Widget, metadata: {name: a}}`),
	}, meta, render.Builtin)
	if err == nil || err.Error() != "Widget a: example.com/v1, Kind=Widget is not a built-in kind" {
		t.Errorf("got %v", err)
	}
}
