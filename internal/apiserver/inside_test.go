package apiserver_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"holdfast.dev/holdfast/internal/admission/keep"
	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/config"
	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/apiserver/storage"
)

// The client inside the server passes a fence in the context to the storage, and its requests are audited and admitted like those of other
// clients.
func TestInsideClient(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	policy, log := filepath.Join(dir, "policy.yaml"), filepath.Join(dir, "audit.log")
	write(t, policy, "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Request, verbs: [delete]}]\n")
	server := servertest.Start(t, apiserver.Config{Audit: config.Audit{PolicyFile: policy, LogPath: log}})
	inside, err := server.Inside()
	if err != nil {
		t.Fatal(err)
	}
	watched := createPlain(t, inside, metav1.ObjectMeta{Name: "watched"})
	revision, err := strconv.ParseInt(watched.ResourceVersion, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	object := createPlain(t, inside, metav1.ObjectMeta{Name: "object"})
	kept := createPlain(t, inside, metav1.ObjectMeta{Name: "kept", Annotations: map[string]string{keep.Annotation: keep.Always}})
	fence := etcd.Fence{Key: storage.KeyPrefix + "/configmaps/default/watched", Revision: revision - 1}
	remove := func(object *corev1.ConfigMap) error {
		return inside.CoreV1().ConfigMaps("default").Delete(etcd.WithFence(t.Context(), fence), object.Name, metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &object.UID, ResourceVersion: &object.ResourceVersion},
		})
	}
	if err := remove(object); !apierrors.IsConflict(err) || !strings.Contains(err.Error(), "/configmaps/default/watched has the revision") {
		t.Errorf("deleted with a fence that does not hold: %v", err)
	}
	fence.Revision = revision
	if err := remove(kept); !keep.IsRefusal(err) {
		t.Errorf("a kept object: %v", err)
	}
	outdated := object.DeepCopy()
	outdated.UID = types.UID("other")
	if err := remove(outdated); !apierrors.IsConflict(err) {
		t.Errorf("another UID: %v", err)
	}
	if err := remove(object); err != nil {
		t.Errorf("deleted with a fence that holds: %v", err)
	}
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	found := errors.New("not found")
	for line := range strings.SplitSeq(string(data), "\n") {
		if strings.Contains(line, `"requestURI":"/api/v1/namespaces/default/configmaps/object"`) && strings.Contains(line, `"code":200`) &&
			strings.Contains(line, `"username":"system:apiserver"`) && strings.Contains(line, string(object.UID)) {
			found = nil
		}
	}
	if found != nil {
		t.Errorf("the delete in the audit log: %v\n%s", found, data)
	}
}

func createPlain(t *testing.T, client kubernetes.Interface, meta metav1.ObjectMeta) *corev1.ConfigMap {
	t.Helper()
	created, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: meta}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return created
}
