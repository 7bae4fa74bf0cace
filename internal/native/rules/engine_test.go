package rules_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/internal/native"
	"holdfast.dev/holdfast/internal/native/rules"
)

// TestNothingToValidate checks that a nil object has no errors.
func TestNothingToValidate(t *testing.T) {
	for name, obj := range map[string]runtime.Object{"nil": nil, "nil pointer": (*corev1.Pod)(nil)} {
		if errs := rules.Validate(obj); errs != nil {
			t.Errorf("%s: Validate = %v", name, errs)
		}
		if errs := rules.ValidateUpdate(obj, obj); errs != nil {
			t.Errorf("%s: ValidateUpdate = %v", name, errs)
		}
		if errs := rules.ValidateStatus(obj, obj); errs != nil {
			t.Errorf("%s: ValidateStatus = %v", name, errs)
		}
	}
}

// crate is a kind without a published schema. Fields with types of the API are validated all the same.
type crate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Boxes             map[string]corev1.VolumeMount `json:"boxes"`
	First             *corev1.VolumeMount           `json:"first"`
	Loose             corev1.VolumeMount
}

func (c *crate) DeepCopyObject() runtime.Object { return c }

func TestUnknownKind(t *testing.T) {
	obj := &crate{
		ObjectMeta: metav1.ObjectMeta{Name: "crate"},
		Boxes:      map[string]corev1.VolumeMount{"b": {Name: "b"}, "a": {MountPath: "/a"}},
		First:      &corev1.VolumeMount{MountPath: "/"},
	}
	want := lines(`
		boxes[a].name: Required value
		boxes[b].mountPath: Required value
		first.name: Required value`)
	if diff := cmp.Diff(want, messages(rules.Validate(obj))); diff != "" {
		t.Errorf("Validate (-want +got):\n%s", diff)
	}
}

// TestConcurrentFirstUse validates each kind in several goroutines, while it is compiled for the first time.
func TestConcurrentFirstUse(t *testing.T) {
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for _, kind := range native.Kinds() {
				if len(rules.Validate(kind.New())) == 0 {
					t.Errorf("%s without a name is valid", kind.Name())
				}
			}
		})
	}
	all.Wait()
}

// TestOrderIsStable checks that errors always have the same order.
func TestOrderIsStable(t *testing.T) {
	obj := &corev1.ConfigMap{Data: map[string]string{}}
	for i := range 20 {
		obj.Data[fmt.Sprintf("not a key %d", i)] = ""
	}
	obj.Labels = map[string]string{"-a": "-", "-b": "-", "-c": "-"}
	want := fmt.Sprint(rules.Validate(obj))
	for range 20 {
		if got := fmt.Sprint(rules.Validate(obj)); got != want {
			t.Fatalf("order changed:\n%s\n%s", want, got)
		}
	}
}

// FuzzValidate decodes the same JSON as each kind. Validation must not panic and must always have the same result.
func FuzzValidate(f *testing.F) {
	for _, manifest := range valid {
		f.Add(edit(f, manifest, ""))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, kind := range native.Kinds() {
			obj := kind.New()
			if json.Unmarshal(data, obj) != nil {
				continue
			}
			first := messages(rules.Validate(obj))
			if again := messages(rules.Validate(obj)); strings.Join(first, "\n") != strings.Join(again, "\n") {
				t.Errorf("%s: two results:\n%v\n%v", kind.Name(), first, again)
			}
			rules.ValidateUpdate(obj, obj)
			rules.ValidateStatus(obj, obj)
		}
	})
}

// BenchmarkDeployment validates a Deployment with 82 fields, defaults included.
func BenchmarkDeployment(b *testing.B) {
	benchmark(b, defaulted(b, edit(b, valid["Deployment"], `
		spec/template/spec/serviceAccountName = web
		spec/template/spec/securityContext = {runAsNonRoot: true, runAsUser: 1000, fsGroup: 2000}
		spec/template/spec/volumes = [{name: config, configMap: {name: web}}, {name: tmp, emptyDir: {}}, {name: cert, secret: {secretName: cert}}]
		spec/template/spec/affinity = {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: \
			[{weight: 1, podAffinityTerm: {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}}]}}
		spec/template/spec/containers/0/env = [{name: A, value: a}, {name: B, value: b}, \
			{name: IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}, \
			{name: T, valueFrom: {secretKeyRef: {name: token, key: token}}}]
		spec/template/spec/containers/0/resources = {requests: {cpu: 100m, memory: 64Mi}, limits: {cpu: "1", memory: 128Mi}}
		spec/template/spec/containers/0/volumeMounts = [{name: config, mountPath: /etc/web}, \
			{name: tmp, mountPath: /tmp}, {name: cert, mountPath: /cert, readOnly: true}]
		spec/template/spec/containers/0/livenessProbe = {httpGet: {path: /healthz, port: 8080}}
		spec/template/spec/containers/0/readinessProbe = {httpGet: {path: /readyz, port: 8080}}
		spec/template/spec/containers/0/securityContext = {allowPrivilegeEscalation: false, \
			readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}`)))
}

// BenchmarkPod validates a pod with many features, 188 fields.
func BenchmarkPod(b *testing.B) {
	benchmark(b, defaulted(b, edit(b, valid["Pod"], "")))
}

// BenchmarkConfigMap validates a small ConfigMap.
func BenchmarkConfigMap(b *testing.B) {
	benchmark(b, defaulted(b, edit(b, valid["ConfigMap"], "")))
}

func benchmark(b *testing.B, obj runtime.Object) {
	if errs := rules.Validate(obj); errs != nil {
		b.Fatal(errs)
	}
	b.ReportAllocs()
	for b.Loop() {
		rules.Validate(obj)
	}
}
