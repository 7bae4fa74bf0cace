package migration_test

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/waittest"
)

// check compares the versions of the stored boats, and the stored versions of the definition.
func (s *store) check(boats map[string]int, storedVersions ...string) {
	s.Helper()
	counted, found := s.versions()
	if diff := cmp.Diff(boats, counted); diff != "" {
		s.Errorf("versions of the boats (-want +got)\n%s", diff)
	}
	if !slices.Equal(found, storedVersions) {
		s.Errorf("storedVersions %v, want %v", found, storedVersions)
	}
}

// TestMigration writes objects in the storage version. Only their version and their resourceVersion change, watches see it, and a second
// migration writes nothing.
func TestMigration(t *testing.T) {
	t.Parallel()
	s := startStore(t)
	_, c := s.server(apiserver.Config{})
	c.create(define(""), 100)
	before, err := c.boats().Get(t.Context(), "b7", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	watchOne := func() watch.Interface {
		// The cache of a new kind may begin after the first of its objects were written, so the watch begins where a list ends.
		listed, err := c.boats().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		events, err := c.boats().Watch(t.Context(), metav1.ListOptions{ResourceVersion: listed.GetResourceVersion(), FieldSelector: "metadata.name=b7"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(events.Stop)
		return events
	}
	former := watchOne()
	c.storeIn("v2")
	if event := waittest.Receive(t, "the server ends the watches that began with the former definition", former.ResultChan()); event.Object != nil {
		t.Errorf("the former watch sees %s %v", event.Type, event.Object)
	}
	events := watchOne()
	s.check(map[string]int{"v1": 100}, "v1", "v2")
	if end := c.succeeded(c.migrate(name)); end.Message != "objects read: 100, written: 100" {
		t.Errorf("message %q", end.Message)
	}
	s.check(map[string]int{"v2": 100}, "v2")
	event := waittest.Receive(t, "the watch sees the write", events.ResultChan())
	after, err := c.boats().Get(t.Context(), "b7", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if number(t, after.GetResourceVersion()) <= number(t, before.GetResourceVersion()) {
		t.Errorf("resourceVersion %s, before %s", after.GetResourceVersion(), before.GetResourceVersion())
	}
	if seen, ok := event.Object.(*unstructured.Unstructured); event.Type != watch.Modified || !ok || seen.GetResourceVersion() != after.GetResourceVersion() {
		t.Errorf("the watch sees %s %v", event.Type, event.Object)
	}
	before.SetResourceVersion(after.GetResourceVersion())
	if diff := cmp.Diff(before.Object, after.Object); diff != "" {
		t.Errorf("the object has changed (-before +after)\n%s", diff)
	}
	if end := c.succeeded(c.migrate(name)); end.Message != "objects read: 100, written: 0" {
		t.Errorf("message of the second migration: %q", end.Message)
	}
}

// TestRefused names the reason for which the stored versions of a definition cannot be shortened: here a policy in a file.
func TestRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const policy = "{apiVersion: guard.holdfast.dev/v1beta1, kind: ImmutabilityPolicy, metadata: {name: kinds}, spec: {resources: " +
		"[customresourcedefinitions.apiextensions.k8s.io], rules: [immutable status.storedVersions], objectSelector: {matchLabels: {fixed: 'yes'}}}}"
	if err := os.WriteFile(filepath.Join(dir, "kinds.yaml"), []byte(policy), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startStore(t)
	_, c := s.server(apiserver.Config{RulesDir: dir})
	c.create(define(""), 1)
	c.storeIn("v2")
	patch := func(patch string, options metav1.PatchOptions, subresources ...string) error {
		_, err := c.dynamic.Resource(definitions).Patch(t.Context(), name, types.MergePatchType, []byte(patch), options, subresources...)
		return err
	}
	if err := patch(`{"metadata": {"labels": {"fixed": "yes"}}}`, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	const forbids = "which policy kinds forbids"
	waittest.Until(t, "the policy is in force", func() error {
		err := patch(`{"status": {"storedVersions": ["v2"]}}`, metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}, "status")
		if err == nil || !strings.Contains(err.Error(), forbids) {
			return fmt.Errorf("not refused: %w", err)
		}
		return nil
	})
	end := c.ended(c.migrate(name))
	if end.Type != string(storagemigrationv1.MigrationFailed) || !strings.Contains(end.Message, forbids) {
		t.Errorf("the migration ends with %s: %s", end.Type, end.Message)
	}
	s.check(map[string]int{"v2": 1}, "v1", "v2")
}

// TestUnknown names resources that cannot be migrated.
func TestUnknown(t *testing.T) {
	t.Parallel()
	s := startStore(t)
	_, c := s.server(apiserver.Config{})
	end := c.ended(c.migrate("ships.example.com"))
	const want = "resource does not exist in discovery: ships.example.com is no built-in kind, and has no established definition"
	if end.Type != "Failed" || end.Reason != "StorageVersionMigrationFailed" || end.Message != want {
		t.Errorf("ended with %s %s %q, want Failed with %q", end.Type, end.Reason, end.Message, want)
	}
}

// sailmaker is a conversion webhook: spec.sail of v1 is spec.cloth in v2. It cannot convert boats with a name in broken.
type sailmaker struct{ broken atomic.Pointer[string] }

func (h *sailmaker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var review apiextensionsv1.ConversionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer := &apiextensionsv1.ConversionResponse{UID: review.Request.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
	fields := map[string][2]string{"v2": {"sail", "cloth"}, "v1": {"cloth", "sail"}}
	for _, raw := range review.Request.Objects {
		obj := &unstructured.Unstructured{}
		if err := obj.UnmarshalJSON(raw.Raw); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if broken := h.broken.Load(); broken != nil && obj.GetName() == *broken {
			answer.Result = metav1.Status{Status: metav1.StatusFailure, Message: "the sail is torn"}
		}
		_, version, _ := strings.Cut(review.Request.DesiredAPIVersion, "/")
		spec, _ := obj.Object["spec"].(map[string]any)
		if value, ok := spec[fields[version][0]]; ok {
			delete(spec, fields[version][0])
			spec[fields[version][1]] = value
		}
		obj.SetAPIVersion(review.Request.DesiredAPIVersion)
		answer.ConvertedObjects = append(answer.ConvertedObjects, runtime.RawExtension{Object: obj})
	}
	review.Response, review.Request = answer, nil
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review)
}

// TestWebhook converts objects with the webhook of the definition. An object that cannot be converted is named, and the stored versions
// stay.
func TestWebhook(t *testing.T) {
	t.Parallel()
	hook := &sailmaker{}
	listening := httptest.NewTLSServer(hook)
	t.Cleanup(listening.Close)
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: listening.Certificate().Raw})
	encoded, err := json.Marshal(bundle)
	if err != nil {
		t.Fatal(err)
	}
	s := startStore(t)
	_, c := s.server(apiserver.Config{MigrationPatience: time.Second})
	c.create(define(fmt.Sprintf("{strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: %q, caBundle: %s}}}",
		listening.URL, encoded)), 20)
	c.storeIn("v2")
	hook.broken.Store(new("b3"))
	end := c.ended(c.migrate(name))
	if want := name + " default/b3 cannot be written: "; end.Type != "Failed" || !strings.HasPrefix(end.Message, want) || !strings.Contains(end.Message, "the sail is torn") {
		t.Errorf("ended with %s %q, want Failed with %q", end.Type, end.Message, want)
	}
	counted, versions := s.versions()
	if counted["v1"] == 0 || !slices.Equal(versions, []string{"v1", "v2"}) {
		t.Errorf("after a migration that failed: %v, storedVersions %v", counted, versions)
	}
	hook.broken.Store(nil)
	c.succeeded(c.migrate(name))
	s.check(map[string]int{"v2": 20}, "v2")
	found, _ := s.read(group+"/boats/default/b3", 0)
	if diff := cmp.Diff(map[string]any{"cloth": "red", "count": 3.0}, found[""].decode(t).Spec); diff != "" {
		t.Errorf("stored (-want +got)\n%s", diff)
	}
}

func encryption(t *testing.T, keys ...string) string {
	t.Helper()
	text := "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources: [secrets]\n  providers:\n"
	if len(keys) > 0 {
		text += "  - secretbox:\n      keys:\n"
	}
	for _, key := range keys {
		// A key has 32 bytes.
		text += fmt.Sprintf("      - {name: %s, secret: %s}\n", key, strings.Repeat(key[:1], 42)+"E=")
	}
	text += "  - identity: {}\n"
	file := filepath.Join(t.TempDir(), "encryption.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestKeys encrypts Secrets with a new key. After it, the server needs the old key no more.
func TestKeys(t *testing.T) {
	t.Parallel()
	s := startStore(t)
	stop := func(keys ...string) (*client, func()) {
		server, c := s.server(apiserver.Config{EncryptionConfig: encryption(t, keys...)})
		return c, func() {
			if err := server.Stop(); err != nil {
				t.Fatal(err)
			}
		}
	}
	c, end := stop()
	write := func(from, to int) {
		for i := from; i < to; i++ {
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("s%d", i)}, Immutable: new(i%2 == 0), StringData: map[string]string{"key": fmt.Sprint(i)}}
			if _, err := c.typed.CoreV1().Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(0, 50)
	end()
	c, end = stop("old")
	write(50, 100)
	c.succeeded(c.migrate("secrets"))
	end()
	c, end = stop("new", "old")
	c.succeeded(c.migrate("secrets"))
	end()
	found, _ := s.read("secrets/", 0)
	for key, secret := range found {
		if !strings.HasPrefix(secret.text, "k8s:enc:secretbox:v1:new:") {
			t.Errorf("%s is stored as %.30q", key, secret.text)
		}
	}
	c, _ = stop("new")
	list, err := c.typed.CoreV1().Secrets("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 100 {
		t.Errorf("%d Secrets are left of 100", len(list.Items))
	}
	for _, secret := range list.Items {
		if want := strings.TrimPrefix(secret.Name, "s"); string(secret.Data["key"]) != want {
			t.Errorf("%s has %q", secret.Name, secret.Data["key"])
		}
	}
}

// TestEncoding stores objects in the encoding of the server. An Event keeps its lease.
func TestEncoding(t *testing.T) {
	t.Parallel()
	s := startStore(t)
	_, c := s.server(apiserver.Config{})
	lease, err := s.etcd.Grant(t.Context(), 3600)
	if err != nil {
		t.Fatal(err)
	}
	for key, put := range map[string]struct {
		text    string
		options []clientv3.OpOption
	}{
		"configmaps/default/text": {`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"default","name":"text","uid":"1"},"data":{"a":"b"}}`, nil},
		"events/default/told": {
			`{"apiVersion":"v1","kind":"Event","metadata":{"namespace":"default","name":"told","uid":"2"},"reason":"Told"}`,
			[]clientv3.OpOption{clientv3.WithLease(lease.ID)},
		},
	} {
		if _, err := s.etcd.Put(t.Context(), "/registry/"+key, put.text, put.options...); err != nil {
			t.Fatal(err)
		}
	}
	c.succeeded(c.migrate("configmaps"))
	c.succeeded(c.migrate("events.events.k8s.io"))
	for prefix, want := range map[string]int64{"configmaps/default/text": 0, "events/default/told": int64(lease.ID)} {
		found, _ := s.read(prefix, 0)
		if got := found[""]; got == nil || !strings.HasPrefix(got.text, "k8s\x00") || got.lease != want {
			t.Errorf("%s is stored as %+v, want protobuf with the lease %d", prefix, got, want)
		}
	}
	config, err := c.typed.CoreV1().ConfigMaps("default").Get(t.Context(), "text", metav1.GetOptions{})
	if err != nil || config.Data["a"] != "b" {
		t.Errorf("the ConfigMap has %v, %v", config.Data, err)
	}
}

// TestOneAfterTheOther carries out two migrations of a resource one after the other, and stops one that is deleted.
func TestOneAfterTheOther(t *testing.T) {
	t.Parallel()
	s := startStore(t)
	_, c := s.server(apiserver.Config{MigrationRate: slowRate})
	c.create(define(""), 600)
	c.storeIn("v2")
	names := []string{c.migrate(name), c.migrate(name)}
	s.begun("v2")
	list, err := c.typed.StoragemigrationV1().StorageVersionMigrations().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, migration := range list.Items {
		if len(migration.Status.Conditions) == 0 {
			names = slices.DeleteFunc(names, func(name string) bool { return name == migration.Name })
			names = append(names, migration.Name)
		}
	}
	if len(list.Items) != 2 || (len(list.Items[0].Status.Conditions) == 0) == (len(list.Items[1].Status.Conditions) == 0) {
		t.Fatalf("not one of two migrations runs: %v", list.Items)
	}
	first, second := names[0], names[1]
	if err := c.typed.StoragemigrationV1().StorageVersionMigrations().Delete(t.Context(), first, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.succeeded(second)
	s.check(map[string]int{"v2": 600}, "v2")
}
