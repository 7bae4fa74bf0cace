package references_test

import (
	"encoding/json"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/references"
	"holdfast.dev/holdfast/internal/yamltest"
)

// podYAML is a usual pod: 7 references.
const podYAML = `
imagePullSecrets: [{name: registry}]
volumes:
- {name: settings, configMap: {name: settings-5f2c}}
- {name: tls, secret: {secretName: web-tls}}
- {name: cache, emptyDir: {}}
- name: token
  projected: {sources: [{serviceAccountToken: {path: token}}, {configMap: {name: kube-root-ca.crt}}, {downwardAPI: {}}]}
containers:
- name: web
  env: [{name: A, value: one}, {name: B, value: two}, {name: PASSWORD, valueFrom: {secretKeyRef: {name: db, key: password}}}]
  envFrom: [{configMapRef: {name: environment}}]
- name: proxy
  env: [{name: LEVEL, valueFrom: {configMapKeyRef: {name: proxy, key: level}}}]
`

// Each operation reads the references of one object.
func BenchmarkVisit(b *testing.B) {
	spec := *yamltest.Decode[corev1.PodSpec](b, podYAML)
	deployment := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: spec}}}
	found := 0
	count := func(references.Kind, string, string) { found++ }
	for resource, object := range map[string]runtime.Object{"pods": &corev1.Pod{Spec: spec}, "deployments.apps": deployment} {
		rules, _ := references.BuiltIn(schema.ParseGroupResource(resource))
		typed, err := rules.Typed(object)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(resource, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				typed.Visit(object, count)
			}
		})
	}
	var list []any
	for i := range 64 {
		list = append(list, map[string]any{"name": fmt.Sprintf("item-%d", i), "value": "a text that is no name", "weight": i})
	}
	custom := map[string]any{"spec": map[string]any{"tls": map[string]any{"secretName": "tls"}, "items": list}}
	encoded, err := json.Marshal(custom)
	if err != nil {
		b.Fatal(err)
	}
	declared, err := references.Parse("Secret spec.tls.secretName\nPodTemplate spec.template")
	if err != nil {
		b.Fatal(err)
	}
	for name, rules := range map[string]*references.Rules{"custom with rules": declared, "custom without rules": references.Everything()} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(encoded)))
			for b.Loop() {
				if err := rules.Visit(encoded, count); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	if found == 0 {
		b.Error("no references")
	}
}
