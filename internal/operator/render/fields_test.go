package render_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/operator/render"
)

func TestDropUnknown(t *testing.T) {
	tests := map[string]struct {
		object, want string
		dropped      []string
	}{
		"fields of lists, maps and inlined types": {
			object: `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a, labels: {any: b}, color: red}, spec: {
				replicas: 1, Replicas: 2, template: {spec: {restart: x, nodeSelector: {any: b}, containers: [{name: a, resources: {
				limits: {cpu: 1, any: 2}, limit: {}}}, {name: b, volumeMount: [], livenessProbe: {httpGet: {port: 80}, tcp: 1}}]}}}}`,
			want: `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a, labels: {any: b}}, spec: {
				replicas: 1, template: {spec: {nodeSelector: {any: b}, containers: [{name: a, resources: {
				limits: {cpu: 1, any: 2}}}, {name: b, livenessProbe: {httpGet: {port: 80}}}]}}}}`,
			dropped: []string{
				"metadata.color", "spec.Replicas", "spec.template.spec.containers[0].resources.limit",
				"spec.template.spec.containers[1].livenessProbe.tcp", "spec.template.spec.containers[1].volumeMount",
				"spec.template.spec.restart",
			},
		},
		"values of another type stay": {
			object: `{apiVersion: v1, kind: Service, metadata: {name: a}, spec: [x], data: 1}`,
			want:   `{apiVersion: v1, kind: Service, metadata: {name: a}, spec: [x]}`, dropped: []string{"data"},
		},
		"other kinds": {
			object: `{apiVersion: example.com/v1, kind: Service, any: 1}`, want: `{apiVersion: example.com/v1, kind: Service, any: 1}`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var object, want unstructured.Unstructured
			if err := yaml.Unmarshal([]byte(test.object), &object.Object); err != nil {
				t.Fatal(err)
			}
			if err := yaml.Unmarshal([]byte(test.want), &want.Object); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.dropped, render.DropUnknown(&object)); diff != "" {
				t.Errorf("dropped (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want.Object, object.Object); diff != "" {
				t.Errorf("object (-want +got):\n%s", diff)
			}
		})
	}
}
