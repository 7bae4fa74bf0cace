package builtin_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
)

// TestPodParts changes a pod through pods/resize and pods/ephemeralcontainers.
func TestPodParts(t *testing.T) {
	t.Parallel()
	client := servertest.Start(t, apiserver.Config{DataDir: t.TempDir()}).Client(t)
	servertest.AwaitAccount(t, client, "default")
	pods := client.CoreV1().Pods("default")
	cpu := func(text string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(text)}
	}
	_, err := pods.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{
			{Name: "c", Image: "i", Resources: corev1.ResourceRequirements{Requests: cpu("1")}},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	patch := func(subresource, body string) (*corev1.Pod, error) {
		return pods.Patch(t.Context(), "web", types.StrategicMergePatchType, []byte(body), metav1.PatchOptions{}, subresource)
	}
	refused := func(subresource, body, want string) {
		t.Helper()
		if _, err := patch(subresource, body); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s %s is answered with %v, want %q", subresource, body, err, want)
		}
	}

	resized, err := patch("resize", `{"metadata":{"labels":{"a":"b"}},"spec":{"hostname":"h","containers":[{"name":"c","image":"j",`+
		`"resources":{"requests":{"cpu":"2"}}}]}}`)
	if err != nil {
		t.Fatal(err)
	}
	container := resized.Spec.Containers[0]
	others := container.Image != "i" || resized.Spec.Hostname != "" || resized.Labels["a"] != ""
	if container.Resources.Requests.Cpu().String() != "2" || others {
		t.Errorf("resized to %+v, labels %v", resized.Spec, resized.Labels)
	}
	if resized.Generation != 2 {
		t.Errorf("generation %d after a resize", resized.Generation)
	}
	refused("resize", `{"spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":"2","memory":"1Gi"},`+
		`"requests":{"cpu":"2","memory":"1Gi"}}}]}}`, "Pod QOS Class may not change as a result of resizing")
	refused("resize", `{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":null,"memory":"1Gi"}}}]}}`,
		"resource requests cannot be removed")
	refused("resize", `{"spec":{"containers":[{"name":"c","resources":{"requests":{"example.com/gpu":"1"},`+
		`"limits":{"example.com/gpu":"1"}}}]}}`,
		"only cpu and memory resources are mutable")
	refused("resize", `{"spec":{"containers":[{"name":"d","image":"i"}]}}`, "containers may not be added or removed on resize")
	refused("", `{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"3"}}}]}}`, "field is immutable")

	debugged, err := patch("ephemeralcontainers", `{"spec":{"hostname":"h","ephemeralContainers":[{"name":"debug","image":"tools"}]}}`)
	if err != nil {
		t.Fatal(err)
	}
	list := debugged.Spec.EphemeralContainers
	if len(list) != 1 || list[0].Image != "tools" || debugged.Spec.Hostname != "" || debugged.Generation != 3 {
		t.Errorf("ephemeral containers %+v, generation %d", list, debugged.Generation)
	}
	refused("ephemeralcontainers", `{"spec":{"ephemeralContainers":[{"name":"debug","image":"other"}]}}`, `"debug" may not be changed`)
	refused("ephemeralcontainers", `{"spec":{"ephemeralContainers":[{"$patch":"delete","name":"debug"}]}}`, `"debug" may not be removed`)
	refused("ephemeralcontainers", `{"spec":{"ephemeralContainers":[{"name":"c","image":"tools"}]}}`, "Duplicate value")
	refused("ephemeralcontainers", `{"spec":{"ephemeralContainers":[{"name":"more","image":"tools","ports":[{"containerPort":1}]}]}}`,
		"cannot be set for an Ephemeral Container")
}

// TestManagersOfPodParts checks that a manager owns nothing but the fields that it changed.
func TestManagersOfPodParts(t *testing.T) {
	t.Parallel()
	client := servertest.Start(t, apiserver.Config{DataDir: t.TempDir()}).Client(t)
	servertest.AwaitAccount(t, client, "default")
	pods := client.CoreV1().Pods("default")
	pod, err := pods.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod.Spec.EphemeralContainers = []corev1.EphemeralContainer{{
		EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debug", Image: "tools"},
	}}
	pod.Spec.Hostname = "h"
	updated, err := pods.UpdateEphemeralContainers(t.Context(), "web", pod, metav1.UpdateOptions{FieldManager: "debugger"})
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range updated.ManagedFields {
		owned := entry.FieldsV1.GetRawString()
		if entry.Manager == "debugger" && (!strings.Contains(owned, "ephemeralContainers") || strings.Contains(owned, "hostname")) {
			t.Errorf("the debugger owns %s", owned)
		}
	}
}
