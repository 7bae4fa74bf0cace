package builtin_test

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"holdfast.dev/holdfast/internal/apiserver/servertest"
)

const usedByNode = "holdfast.dev/used-by-node"

// usage creates pods and the objects that they use in one namespace. The names of its nodes
// begin with the namespace, so tests do not share nodes.
type usage struct {
	t         *testing.T
	client    kubernetes.Interface
	namespace string
}

// newUsage creates a namespace.
func newUsage(t *testing.T, server *servertest.Server, namespace string) usage {
	t.Helper()
	u := usage{t: t, client: server.Client(t), namespace: namespace}
	servertest.CreateNamespace(t, u.client, namespace)
	return u
}

func (u usage) must(err error) {
	u.t.Helper()
	if err != nil {
		u.t.Fatal(err)
	}
}

// configMap creates a ConfigMap with a value, or changes its value.
func (u usage) configMap(name, value string) {
	u.t.Helper()
	maps := u.client.CoreV1().ConfigMaps(u.namespace)
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"v": value}}
	_, err := maps.Create(u.t.Context(), object, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		u.patch(name, fmt.Sprintf(`{"data":{"v":%q}}`, value))
		return
	}
	u.must(err)
}

func (u usage) patch(name, patch string) {
	u.t.Helper()
	maps := u.client.CoreV1().ConfigMaps(u.namespace)
	_, err := maps.Patch(u.t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	u.must(err)
}

func (u usage) deleteConfigMap(name string) {
	u.t.Helper()
	u.must(u.client.CoreV1().ConfigMaps(u.namespace).Delete(u.t.Context(), name, metav1.DeleteOptions{}))
}

// pod creates a pod on a node that uses ConfigMaps.
func (u usage) pod(name, node string, configMaps ...string) {
	u.t.Helper()
	automount := false
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{
		NodeName: u.namespace + "-" + node, AutomountServiceAccountToken: &automount,
		Containers: []corev1.Container{{Name: "main", Image: "example.com/main"}},
	}}
	for _, used := range configMaps {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: used, VolumeSource: corev1.VolumeSource{
			ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: used}},
		}})
	}
	_, err := u.client.CoreV1().Pods(u.namespace).Create(u.t.Context(), pod, metav1.CreateOptions{})
	u.must(err)
}

func (u usage) deletePod(name string) {
	u.t.Helper()
	u.must(u.client.CoreV1().Pods(u.namespace).Delete(u.t.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
}

func (u usage) selectUsed(node string) metav1.ListOptions {
	return metav1.ListOptions{FieldSelector: usedByNode + "=" + u.namespace + "-" + node}
}

// list returns the ConfigMaps that a node uses, with their values, and the version of
// the list.
func (u usage) list(node string) (items []string, version string) {
	u.t.Helper()
	list, err := u.client.CoreV1().ConfigMaps("").List(u.t.Context(), u.selectUsed(node))
	u.must(err)
	for i := range list.Items {
		items = append(items, list.Items[i].Name+"="+list.Items[i].Data["v"])
	}
	return items, list.ResourceVersion
}

func (u usage) watch(options metav1.ListOptions) watched {
	u.t.Helper()
	ctx, cancel := context.WithCancel(u.t.Context())
	w, err := u.client.CoreV1().ConfigMaps("").Watch(ctx, options)
	u.must(err)
	u.t.Cleanup(cancel)
	return watched{u.t, w}
}

// watched is an open watch.
type watched struct {
	t *testing.T
	watch.Interface
}

// next returns the next event, such as "ADDED a=1".
func (w watched) next() string {
	w.t.Helper()
	event, ok := <-w.ResultChan()
	if !ok {
		return "closed"
	}
	switch obj := event.Object.(type) {
	case *corev1.ConfigMap:
		if event.Type == watch.Bookmark {
			return fmt.Sprintf("BOOKMARK %v", obj.Annotations)
		}
		return fmt.Sprintf("%s %s=%s", event.Type, obj.Name, obj.Data["v"])
	case *metav1.Status:
		return fmt.Sprintf("%s %d %s", event.Type, obj.Code, obj.Reason)
	default:
		return fmt.Sprintf("%s %T", event.Type, obj)
	}
}

func (w watched) want(events ...string) {
	w.t.Helper()
	for _, want := range events {
		got := w.next()
		for got == "BOOKMARK map[]" && got != want { // one that the server sends from time to time
			got = w.next()
		}
		if got != want {
			w.t.Fatalf("got %q, want %q", got, want)
		}
	}
}
