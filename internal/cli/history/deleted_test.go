package history_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/config"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/fieldhistory"
)

// TestDeletedObjects creates deleted objects again from their history, which the server keeps for a while.
func TestDeletedObjects(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{History: config.History{AfterDelete: time.Hour}})
	core, c := server.Client(t).CoreV1(), client{kubeconfig: server.Kubeconfig()}
	label := map[string]string{fieldhistory.Label: fieldhistory.LabelFields}
	owner, err := core.Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	created, err := core.ConfigMaps(namespace).Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "settings", Labels: label, OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "v1", Kind: "Namespace", Name: namespace, UID: owner.UID,
		}}},
		Data: map[string]string{"a": "1"},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	patch := []byte(`{"data":{"a":"2"},"metadata":{"ownerReferences":null}}`)
	if _, err := core.ConfigMaps(namespace).Patch(t.Context(), "settings", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "login", Labels: label}, StringData: map[string]string{"password": "swordfish"}}
	if _, err := core.Secrets(namespace).Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		core.ConfigMaps(namespace).Delete(t.Context(), "settings", metav1.DeleteOptions{}),
		core.Secrets(namespace).Delete(t.Context(), "login", metav1.DeleteOptions{}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	run := func(code int, want string, args ...string) {
		t.Helper()
		r := c.undo(t, args...)
		text := r.out + r.notes
		if r.err != nil {
			text += r.err.Error()
		}
		if r.code != code || !strings.Contains(text, want) {
			t.Errorf("%s: code %d, want %d:\n%s\nwant %q", args, r.code, code, text, want)
		}
		if strings.Contains(text, "swordfish") {
			t.Errorf("%s: the output has a value of a Secret:\n%s", args, text)
		}
	}
	run(1, "it is deleted: only --to NUMBER can create it again, with all fields", "configmap", "settings", "--field", ".data.a")
	run(1, "history does not keep the values of .data.password: nothing is undone", "secret", "login", "--to", "1", "--yes")
	run(1, "is before the object was created", "configmap", "settings", "--to", "0")
	run(0, "Its owner is Namespace recorded: if that is gone, the server deletes the object again.", "configmap", "settings", "--to", "1")
	run(0, "It is a new object with a new UID", "configmap", "settings", "--to", "2")
	run(0, "settings: created again, as a new object", "configmap", "settings", "--to", "2", "--yes")
	again, err := core.ConfigMaps(namespace).Get(t.Context(), "settings", metav1.GetOptions{})
	if err != nil || again.UID == created.UID || again.Data["a"] != "2" || again.Labels[fieldhistory.Label] == "" {
		t.Errorf("the object is %v (%v)", again, err)
	}
	if text := fmt.Sprint(c.history(t, "secret", "login")); strings.Contains(text, "c3dvcmRmaXNo") || strings.Contains(text, "swordfish") {
		t.Errorf("the history has a value of a Secret: %s", text)
	}
	// The new object has a history of its own. That of the deleted one is there too.
	list := c.history(t, "configmap", "settings")
	if list.UID != string(again.UID) || len(list.Items) != 1 || list.Items[0].Number != 1 {
		t.Errorf("the history is %+v", list)
	}
	if list = c.history(t, "configmap", "settings", "--uid", string(created.UID)); list.Deleted == nil || len(list.Items) != 3 {
		t.Errorf("the history of the deleted object is %+v", list)
	}
	run(1, "another object has this name", "configmap", "settings", "--uid", string(created.UID), "--to", "1", "--yes")
}
