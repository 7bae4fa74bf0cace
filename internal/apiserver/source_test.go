//go:build !plain

package apiserver_test

import (
	"bytes"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

// TestCollectorSendsNoWatches checks that the garbage collector sees the changes of a kind that no other
// part of the server watches, and that it opens no watch of it through the API.
func TestCollectorSendsNoWatches(t *testing.T) {
	t.Parallel()
	client := servertest.Start(t, apiserver.Config{}).Client(t)
	owner, err := client.CoreV1().ConfigMaps("default").Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	revisions := client.AppsV1().ControllerRevisions("default")
	if _, err := revisions.Create(t.Context(), &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{
		Name: "child", OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: owner.UID}},
	}, Data: runtime.RawExtension{Raw: []byte(`{}`)}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	background := metav1.DeletePropagationBackground
	if err := client.CoreV1().ConfigMaps("default").Delete(t.Context(), "owner",
		metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the collector deletes the dependent", func() bool {
		_, err := revisions.Get(t.Context(), "child", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	noWatches(t, client, "controllerrevisions")
}

// TestInformersSendNoWatches checks that the informers of the server open no watches through the API. The
// server is ready only after its informers have listed their objects.
func TestInformersSendNoWatches(t *testing.T) {
	t.Parallel()
	client := servertest.Start(t, apiserver.Config{}).Client(t)
	for _, resource := range []string{"limitranges", "prioritylevelconfigurations", "validatingadmissionpolicybindings"} {
		noWatches(t, client, resource)
	}
}

// noWatches checks that there is no watch of a resource through the API.
func noWatches(t *testing.T, client kubernetes.Interface, resource string) {
	t.Helper()
	data, err := client.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		if bytes.HasPrefix(line, []byte("apiserver_longrunning_requests{")) && bytes.Contains(line, []byte(`resource="`+resource+`"`)) {
			t.Errorf("a watch through the API: %s", line)
		}
	}
}
