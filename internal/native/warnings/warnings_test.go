package warnings_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"holdfast.dev/holdfast/internal/native"
	"holdfast.dev/holdfast/internal/native/warnings"
)

// Package test/upstream compares the warnings of generated objects with those of Kubernetes.
func TestOnCreate(t *testing.T) {
	tests := map[string]struct{ object, want string }{
		"duplicate env and null selector": {
			`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: a}, spec: {selector: {matchLabels: {a: b}}, template: {
			  metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a, env: [{name: A, value: x}, {name: A, value: "$(A)y"}, {name: A, value: z}]}],
			  topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]}}}}`,
			`spec.template.spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod
spec.template.spec.containers[0].env[2]: hides previous definition of "A", which may be dropped when using apply`,
		},
		"overlapping paths": {
			`{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: a}, spec: {containers: [{name: a, image: a}], volumes: [{name: v, projected: {sources: [
			  {configMap: {name: c, items: [{key: k, path: a/b}]}}, {secret: {name: s, items: [{key: k, path: a}]}}]}}]}}`,
			`volume "v" (Projected): overlapping paths: "a" (Secret "s") with "a/b" (ConfigMap "c")`,
		},
		"headless Service": {
			`{apiVersion: v1, kind: Service, metadata: {name: web, namespace: a}, spec: {clusterIP: None, externalIPs: [010.0.0.1], ports: [{port: 80}]}}`,
			`spec.externalIPs is ignored for headless services
spec.externalIPs[0]: non-standard IP address "010.0.0.1" is invalid: use "10.0.0.1"`,
		},
		"externalIPs": {
			`{apiVersion: v1, kind: Service, metadata: {name: web, namespace: a}, spec: {externalIPs: [10.0.0.1], ports: [{port: 80}]}}`,
			`spec.externalIPs is deprecated and may no longer be implemented in some clusters`,
		},
		"name that is no host name": {
			`{apiVersion: batch/v1, kind: Job, metadata: {name: a.b, namespace: a}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}`,
			`metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]`,
		},
		"nothing": {`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: a}}`, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(warnings.OnCreate(decode(t, tt.object)), "\n")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

// A write that changes only metadata does not repeat the warnings about a template.
func TestOnUpdate(t *testing.T) {
	const deployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: a, generation: N}, spec: {selector: {matchLabels: {a: b}},
	  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}], imagePullSecrets: [{name: ""}]}}}}`
	old, same := decode(t, strings.Replace(deployment, "N", "1", 1)), decode(t, strings.Replace(deployment, "N", "1", 1))
	if got := warnings.OnUpdate(same, old); got != nil {
		t.Errorf("same generation: %q", got)
	}
	want := []string{`spec.template.spec.imagePullSecrets[0].name: invalid empty name ""`}
	if diff := cmp.Diff(want, warnings.OnUpdate(decode(t, strings.Replace(deployment, "N", "2", 1)), old)); diff != "" {
		t.Errorf("new generation (-want +got):\n%s", diff)
	}
}

func decode(t *testing.T, text string) runtime.Object {
	t.Helper()
	scheme := native.NewScheme()
	text = strings.ReplaceAll(text, "\t", " ")
	obj, _, err := serializer.NewCodecFactory(scheme).UniversalDeserializer().Decode([]byte("# YAML\n"+text), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	scheme.Default(obj)
	return obj
}
