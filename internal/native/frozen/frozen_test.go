package frozen_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/internal/native/frozen"
	"holdfast.dev/holdfast/internal/yamltest"
)

// update is an update of an object, and the errors of the check.
type update struct {
	kind     runtime.Object
	old, new string
	want     []string
}

// checkUpdates checks updates that change frozen fields, and updates that exceptions allow. Each
// object must also accept an update without changes.
func checkUpdates(t *testing.T, cases map[string]update) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			oldObj, newObj := c.kind, c.kind.DeepCopyObject()
			for text, obj := range map[string]runtime.Object{c.old: oldObj, c.new: newObj} {
				yamltest.Into(t, text, obj)
			}
			var got []string
			for _, err := range frozen.Check(newObj, oldObj) {
				got = append(got, err.Error())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if errs := frozen.Check(oldObj, oldObj.DeepCopyObject()); len(errs) > 0 {
				t.Errorf("an unchanged object: %v", errs)
			}
		})
	}
}

// BenchmarkCheckDeployment checks a new image in a small Deployment.
func BenchmarkCheckDeployment(b *testing.B) {
	const manifest = `
spec:
  replicas: 1
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      containers:
      - {name: a, image: x, env: [{name: A, value: b}], resources: {limits: {cpu: "1", memory: 1Gi}}}
`
	deployment := yamltest.Decode[appsv1.Deployment](b, manifest)
	changed := deployment.DeepCopy()
	changed.Spec.Template.Spec.Containers[0].Image = "y"
	b.ReportAllocs()
	for b.Loop() {
		if errs := frozen.Check(changed, deployment); len(errs) > 0 {
			b.Fatal(errs)
		}
	}
}

// TestCanReject checks for which objects an update could be rejected.
func TestCanReject(t *testing.T) {
	immutable := true
	tests := map[string]struct {
		object runtime.Object
		want   bool
	}{
		"stateful set":         {&appsv1.StatefulSet{}, true},
		"secret":               {&corev1.Secret{}, true},
		"config map":           {&corev1.ConfigMap{}, false},
		"immutable config map": {&corev1.ConfigMap{Immutable: &immutable}, true},
		"service account":      {&corev1.ServiceAccount{}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := frozen.CanReject(test.object); got != test.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
