package views_test

import (
	"strings"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/native/views"
	"holdfast.dev/holdfast/ownership"
)

// TestTransfer checks that a field can be taken out of a last-applied configuration that does
// not have it in the form in which the server stores it.
func TestTransfer(t *testing.T) {
	types := views.New()
	scaler := autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler")
	for name, test := range map[string]struct {
		kind                 schema.GroupVersionKind
		applied, field, want string
	}{
		"a key of stringData": {secret, `{"stringData":{"a":"x","b":"y"}}`, ".data.a", `{"stringData":{"b":"y"}}`},
		"a key of both": {
			secret, `{"data":{"a":"eA=="},"stringData":{"a":"x"}}`, ".data.a", `{"data":{},"stringData":{}}`,
		},
		"all data":     {secret, `{"stringData":{"a":"x","b":"y"}}`, ".data", `{}`},
		"null":         {secret, `{"metadata":{"labels":{"x":null,"y":"z"}}}`, ".metadata.labels.x", `{"metadata":{"labels":{"y":"z"}}}`},
		"a zero value": {deployment, `{"spec":{"paused":false}}`, ".spec.paused", `{"spec":{}}`},
		"not owned":    {deployment, `{"spec":{"paused":false}}`, ".spec.replicas", "kubectl apply does not own it"},
		"an older version": {
			deployment, `{"apiVersion":"apps/v1beta1","kind":"Deployment","spec":{"replicas":1}}`, ".spec.replicas",
			`{"apiVersion":"apps/v1beta1","kind":"Deployment","spec":{}}`,
		},
		"a converted field": {
			scaler, `{"apiVersion":"autoscaling/v1","kind":"HorizontalPodAutoscaler","spec":{"targetCPUUtilizationPercentage":5}}`,
			".spec.metrics", `{"apiVersion":"autoscaling/v1","kind":"HorizontalPodAutoscaler","spec":{}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			path, err := ownership.ParsePath(test.field)
			if err != nil {
				t.Fatal(err)
			}
			obj := ownership.WithLastApplied(map[string]any{}, test.applied)
			got, err := ownership.RemoveApplied(types.Of(test.kind.GroupKind()), obj, path)
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, test.want) {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
