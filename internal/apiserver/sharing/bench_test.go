package sharing

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/internal/yamltest"
)

// BenchmarkShare measures what one event of a watch costs: the next version of a pod with another status, and of a ConfigMap with 30 keys
// of which one has another value. It includes the copy that stands for the decoded object.
func BenchmarkShare(b *testing.B) {
	pod := yamltest.Decode[corev1.Pod](b, `
metadata: {name: web, uid: a, labels: {app: web}, managedFields: [{manager: kubectl, fieldsV1: {"f:spec": {"f:containers": {}}}}]}
spec:
  containers:
  - {name: main, image: registry.example.com/web:1, env: [{name: A, value: a}], ports: [{containerPort: 80}], resources: {limits: {memory: 256Mi}}}
  volumes: [{name: config, configMap: {name: web}}]
status: {phase: Running, conditions: [{type: Ready, status: "True"}], containerStatuses: [{name: main, image: registry.example.com/web:1}]}
`)
	configMap := &corev1.ConfigMap{Data: map[string]string{}}
	configMap.UID = "b"
	for i := range 30 {
		configMap.Data[fmt.Sprintf("setting-%02d.properties", i)] = "listen=0.0.0.0:80\nlevel=info\nretention=72h\npeers=peer-0,peer-1,peer-2\n"
	}
	for name, next := range map[string]func(n int) runtime.Object{
		"pod": func(n int) runtime.Object {
			obj := pod.DeepCopy()
			obj.Status.Message = fmt.Sprint(n)
			return obj
		},
		"ConfigMap": func(n int) runtime.Object {
			obj := configMap.DeepCopy()
			obj.Data["setting-00.properties"] = fmt.Sprint(n)
			return obj
		},
	} {
		b.Run(name, func(b *testing.B) {
			objects, n := newObjects(), 0
			b.ReportAllocs()
			for b.Loop() {
				n++
				objects.Share(pods, next(n))
			}
		})
	}
}
