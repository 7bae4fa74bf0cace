package frozen_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/native/frozen"
)

func TestLocksOf(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		kind   runtime.Object
		object string
		fields []string
		flag   []string
	}{
		"a Deployment": {&appsv1.Deployment{}, "{spec: {selector: {matchLabels: {a: b}}}}", []string{"spec.selector: immutable"}, nil},
		"a Pod": {
			&corev1.Pod{}, "{metadata: {name: a}, spec: {containers: [{name: a, image: b}], tolerations: [{key: x}]}}",
			[]string{
				"spec: immutable", "spec.activeDeadlineSeconds: immutable, absent", "spec.containers[0].image: free",
				"spec.nodeSelector: immutable, absent", "spec.schedulingGates: deletion only, absent",
				"spec.terminationGracePeriodSeconds: immutable, absent", "spec.tolerations: addition only",
			},
			nil,
		},
		"a ConfigMap": {&corev1.ConfigMap{}, "{data: {a: b}}", nil, nil},
		"an immutable ConfigMap": {
			&corev1.ConfigMap{}, "{immutable: true}", nil, []string{"binaryData: immutable", "data: immutable", "immutable: immutable"},
		},
		"an immutable Secret": {
			&corev1.Secret{}, "{immutable: true, type: Opaque}", []string{"type: immutable"}, []string{"data: immutable", "immutable: immutable"},
		},
		"a Node": {&corev1.Node{}, "{spec: {podCIDR: 10.0.0.0/24}}", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if err := yaml.UnmarshalStrict([]byte(test.object), test.kind); err != nil {
				t.Fatal(err)
			}
			locks, err := frozen.LocksOf(test.kind)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.fields, lockLines(locks.Fields)); diff != "" {
				t.Errorf("fields of the table (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.flag, lockLines(locks.Immutable)); diff != "" {
				t.Errorf("fields under the flag (-want +got):\n%s", diff)
			}
		})
	}
}

func lockLines(locks []immutability.Lock) []string {
	var lines []string
	for _, lock := range locks {
		line := lock.Path.String() + ": " + lock.Marker.String()
		if lock.Absent {
			line += ", absent"
		}
		lines = append(lines, line)
	}
	return lines
}
