package history_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/apiserver/servertest"
)

// TestConcurrentWrite changes the object between the dry run and the write of an undo. The server refuses the write, and the other change
// stays.
func TestConcurrentWrite(t *testing.T) {
	t.Parallel()
	server, c := start(t)
	maps := server.Client(t).CoreV1().ConfigMaps(namespace)
	created := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}, Data: map[string]string{"a": "1", "b": "1"}}
	if _, err := maps.Create(t.Context(), created, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	patch := func(text string) {
		if _, err := maps.Patch(t.Context(), "settings", types.MergePatchType, []byte(text), metav1.PatchOptions{}); err != nil {
			t.Error(err)
		}
	}
	patch(`{"data":{"a":"2"}}`)
	var once sync.Once
	c.before = func(r *http.Request) {
		if r.Method == http.MethodPut && !r.URL.Query().Has("dryRun") {
			once.Do(func() { patch(`{"data":{"b":"2"}}`) })
		}
	}
	refused := c.undo(t, "configmap/settings", "--to", "1", "--yes")
	if refused.code != 1 || refused.err == nil || !strings.Contains(refused.err.Error(), "has changed since it was read, nothing is undone: run the command again") {
		t.Errorf("code %d, error %v", refused.code, refused.err)
	}
	live, err := maps.Get(t.Context(), "settings", metav1.GetOptions{})
	if err != nil || live.Data["a"] != "2" || live.Data["b"] != "2" {
		t.Errorf("the object has %v (%v)", live.Data, err)
	}
	if again := c.undo(t, "configmap/settings", "--to", "1", "--yes"); again.err != nil {
		t.Error(again.err)
	}
	live, err = maps.Get(t.Context(), "settings", metav1.GetOptions{})
	if err != nil || live.Data["a"] != "1" || live.Data["b"] != "1" {
		t.Errorf("the object has %v (%v)", live.Data, err)
	}
}

// TestSecrets undoes changes of a Secret. A value of it is in no output, and a value that the history does not have is not undone.
func TestSecrets(t *testing.T) {
	t.Parallel()
	server, c := start(t)
	secrets := server.Client(t).CoreV1().Secrets(namespace)
	created := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "login"}, StringData: map[string]string{"password": "swordfish"}}
	if _, err := secrets.Create(t.Context(), created, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, patch := range []string{
		`{"metadata":{"labels":{"team":"blue"}}}`,                              // 2
		`{"data":{"password":null,"renamed":"c3dvcmRmaXNo"}}`,                  // 3
		`{"stringData":{"renamed":"tuna"},"metadata":{"labels":{"team":"x"}}}`, // 4
	} {
		if _, err := secrets.Patch(t.Context(), "login", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	check := func(password, renamed, team string) {
		t.Helper()
		live, err := secrets.Get(t.Context(), "login", metav1.GetOptions{})
		if err != nil || string(live.Data["password"]) != password || string(live.Data["renamed"]) != renamed || live.Labels["team"] != team {
			t.Errorf("the Secret has %q, %q, %q (%v)", live.Data["password"], live.Data["renamed"], live.Labels["team"], err)
		}
	}
	undo := func(want string, code int, args ...string) {
		t.Helper()
		r := c.undo(t, append([]string{"secret", "login", "--yes"}, args...)...)
		text := r.out + r.notes
		if r.err != nil {
			text += r.err.Error()
		}
		if r.code != code || !strings.Contains(text, want) {
			t.Errorf("%s: code %d, want %d:\n%s\nwant %q", args, r.code, code, text, want)
		}
		for _, secret := range []string{"swordfish", "tuna", "c3dvcmRmaXNo", "dHVuYQ"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s: the output has a value of the Secret:\n%s", args, text)
			}
		}
	}
	undo("history does not keep the values of .data.renamed: nothing is undone", 1, "--to", "3")
	check("", "tuna", "x")
	undo("undone", 0, "--field", ".metadata.labels.team")
	check("", "tuna", "blue")
	// The value comes back under another name, so that it is known.
	if _, err := secrets.Patch(t.Context(), "login", types.MergePatchType, []byte(`{"data":{"renamed":"c3dvcmRmaXNo"}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"json", "yaml", "diff", ""} {
		undo("password", 0, "--to", "2", "--dry-run", "-o", format)
	}
	undo("<redacted>", 0, "--to", "2")
	check("swordfish", "", "blue")
	undo("history does not keep the values of .data.renamed: nothing is undone", 1, "--to", "4", "--field", ".data")
}

// TestDryRun undoes a change that the server refuses: only dry runs are sent.
func TestDryRun(t *testing.T) {
	t.Parallel()
	server, c := start(t)
	maps := server.Client(t).CoreV1().ConfigMaps(namespace)
	created := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}, Data: map[string]string{"a": "1"}}
	if _, err := maps.Create(t.Context(), created, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	immutable := true
	created.Immutable, created.Data["a"] = &immutable, "2"
	if _, err := maps.Update(t.Context(), created, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	writes := 0
	c.before = func(r *http.Request) {
		if r.Method == http.MethodPut && r.URL.Query().Get("dryRun") != metav1.DryRunAll {
			writes++
		}
	}
	// The dry run is refused, so that the write is not sent.
	r := c.undo(t, "configmap/settings", "--to", "1", "--yes")
	if r.code != 1 || r.err == nil || !strings.Contains(r.err.Error(), "the server refuses the change, nothing is undone") {
		t.Errorf("code %d, error %v", r.code, r.err)
	}
	if !strings.Contains(r.out, ".data.a") {
		t.Errorf("the output does not show what would change:\n%s", r.out)
	}
	if r := c.undo(t, "configmap/settings", "--to", "1", "--dry-run=client"); r.code != 0 || !strings.Contains(r.out, "the server was not asked") {
		t.Errorf("code %d:\n%s", r.code, r.out)
	}
	if writes > 0 {
		t.Errorf("%d writes were sent", writes)
	}
}

// TestRights shows the history to a user who may get the object, and to no other. Undo needs the right to update the object.
func TestRights(t *testing.T) {
	t.Parallel()
	server, c := start(t)
	admin := server.Client(t)
	created := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}, Data: map[string]string{"a": "first"}}
	if _, err := admin.CoreV1().ConfigMaps(namespace).Create(t.Context(), created, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	created.Data["a"] = "second"
	if _, err := admin.CoreV1().ConfigMaps(namespace).Update(t.Context(), created, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	servertest.Grant(t, admin, rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "reader", Namespace: namespace},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}}},
	})
	servertest.AwaitRight(t, admin, "reader", authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "get", Resource: "configmaps"})
	c.user = "reader"
	if list := c.history(t, "configmap", "settings"); len(list.Items) != 2 || list.Items[1].User != "holdfast-admin" {
		t.Errorf("the history is %+v", list)
	}
	r := c.undo(t, "configmap", "settings", "--to", "1", "--yes")
	if r.code != 1 || !strings.Contains(r.err.Error(), `nothing is undone: configmaps "settings" is forbidden: User "reader" cannot update`) {
		t.Errorf("code %d: %v", r.code, r.err)
	}
	c.user = "stranger"
	r = c.undo(t, "configmap", "settings", "--to", "1", "--yes")
	if text := fmt.Sprint(r.out, r.notes, r.err); r.code != 2 || !strings.Contains(text, "forbidden") || strings.Contains(text, "first") {
		t.Errorf("code %d: %s", r.code, text)
	}
	live, err := admin.CoreV1().ConfigMaps(namespace).Get(t.Context(), "settings", metav1.GetOptions{})
	if err != nil || live.Data["a"] != "second" {
		t.Errorf("the object has %v (%v)", live.Data, err)
	}
}

// TestOtherServer asks a server that does not know the query of the history: it answers with the object.
func TestOtherServer(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	c.before = func(r *http.Request) { r.URL.RawQuery = "" }
	r := c.undo(t, "namespace", namespace, "--to", "1")
	if r.code != 2 || !strings.Contains(r.err.Error(), `namespaces/recorded: this server keeps no history of objects: only "holdfast serve" does`) {
		t.Errorf("code %d: %v", r.code, r.err)
	}
}
