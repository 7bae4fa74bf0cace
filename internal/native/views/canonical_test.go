package views_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/native"
	"holdfast.dev/holdfast/internal/native/views"
)

func TestCanonical(t *testing.T) {
	types := views.New()
	tests := map[string]struct {
		kind    schema.GroupVersionKind
		config  string
		want    string
		unknown []string
		err     string
	}{
		"quantities and int-or-string": {
			kind: deployment,
			config: `{"apiVersion":"apps/v1","kind":"Deployment","spec":{"strategy":{"rollingUpdate":{"maxSurge":"25%",` +
				`"maxUnavailable":1}},"template":{"spec":{"containers":[{"name":"a","resources":{"limits":{"cpu":"1000m",` +
				`"memory":"1024Mi"}}}]}}}}`,
			want: `{"metadata":{},"spec":{"selector":null,"strategy":{"rollingUpdate":{"maxSurge":"25%",` +
				`"maxUnavailable":1}},"template":{"metadata":{},"spec":{"containers":[{"name":"a",` +
				`"resources":{"limits":{"cpu":"1","memory":"1Gi"}}}]}}},"status":{}}`,
		},
		"stringData": {
			kind:   corev1.SchemeGroupVersion.WithKind("Secret"),
			config: `{"apiVersion":"v1","kind":"Secret","data":{"a":"eA=="},"stringData":{"b":"y"}}`,
			want:   `{"data":{"a":"eA==","b":"eQ=="},"metadata":{}}`,
		},
		"another version": {
			kind: autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"),
			config: `{"apiVersion":"autoscaling/v1","kind":"HorizontalPodAutoscaler","spec":{"maxReplicas":3,` +
				`"scaleTargetRef":{"kind":"Deployment","name":"web"},"targetCPUUtilizationPercentage":50}}`,
			want: `{"metadata":{},"spec":{"maxReplicas":3,"metrics":[{"resource":{"name":"cpu",` +
				`"target":{"averageUtilization":50,"type":"Utilization"}},"type":"Resource"}],` +
				`"scaleTargetRef":{"kind":"Deployment","name":"web"}},"status":{"currentMetrics":null,"desiredReplicas":0}}`,
		},
		"unknown fields": {
			kind:   corev1.SchemeGroupVersion.WithKind("ConfigMap"),
			config: `{"apiVersion":"v1","kind":"ConfigMap","dota":{"a":"b"}}`,
			want:   `{"metadata":{}}`, unknown: []string{`"dota"`},
		},
		"another kind": {
			kind:   corev1.SchemeGroupVersion.WithKind("ConfigMap"),
			config: `{"apiVersion":"v1","kind":"Secret"}`, err: `kind "Secret", not ConfigMap`,
		},
		"a version that does not exist": {
			kind: deployment, config: `{"apiVersion":"apps/v7","kind":"Deployment"}`, err: `version "apps/v7" is not known`,
		},
		"another type": {
			kind: deployment, config: `{"apiVersion":"apps/v1","kind":"Deployment","spec":[]}`,
			err: `json: cannot unmarshal array into Go struct field Deployment.spec of type v1.DeploymentSpec`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, unknown, err := types.Of(test.kind.GroupKind()).Canonical([]byte(test.config))
			if (err != nil) != (test.err != "") || err != nil && err.Error() != test.err {
				t.Fatalf("error %v, want %q", err, test.err)
			}
			if err != nil {
				return
			}
			delete(got, "apiVersion")
			delete(got, "kind")
			text, err := json.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(text)) + cmp.Diff(test.unknown, unknown); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestKinds checks that all built-in kinds have a type, and other kinds have none.
func TestKinds(t *testing.T) {
	types := views.New()
	for _, kind := range native.Kinds() {
		if types.Of(kind.GroupVersionKind().GroupKind()) == nil {
			t.Errorf("no views of %s", kind.GroupVersionKind())
		}
	}
	if types.Of(schema.GroupKind{Kind: "Gizmo"}) != nil {
		t.Error("views of a kind that does not exist")
	}
}
