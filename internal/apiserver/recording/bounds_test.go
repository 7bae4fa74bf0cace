package recording_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/config"
	"holdfast.dev/holdfast/internal/apiserver/maintenance"
	"holdfast.dev/holdfast/internal/apiserver/recording"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/fieldhistory"
	"holdfast.dev/holdfast/internal/waittest"
)

const recorded = `{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, labels: {holdfast.dev/history: fields}}, data: {a: "0"}}`

// set changes the ConfigMap of recorded.
func set(value string) string { return fmt.Sprintf(`{"data":{"a":%q}}`, value) }

// An object has as many entries and bytes as the bounds allow, and all objects together have as many bytes. The oldest entries go first.
func TestBounds(t *testing.T) {
	t.Parallel()
	const total = 20 << 10
	f := start(t, apiserver.Config{History: config.History{Entries: 10, Bytes: 8 << 10, TotalBytes: total}})
	var first string
	for i := range 8 {
		name := fmt.Sprintf("bound-%d", i)
		was := states{}
		was.add(f.create(configMaps, fmt.Sprintf(recorded, name)))
		for n := range 14 {
			was.add(f.patch(configMaps, name, set(strings.Repeat(fmt.Sprint(n%10), 300))))
		}
		current := f.patch(configMaps, name, set("end"))
		list := f.history(configMaps, name)
		if got := len(list.Items); got > 10 || list.Items[got-1].Number != 16 {
			t.Errorf("%d entries, the last has the number %d", got, list.Items[got-1].Number)
		}
		if err := was.check(list, current.Object); err != nil {
			t.Error(err)
		}
		if i == 0 {
			first = name
		}
	}
	waittest.Until(t, "the sum of all bytes", func() error {
		found, err := f.etcd.Get(t.Context(), recording.Prefix, clientv3.WithPrefix())
		if err != nil {
			return err
		}
		sum := 0
		for _, pair := range found.Kvs {
			sum += len(pair.Value)
		}
		if sum > total {
			return fmt.Errorf("%d bytes", sum)
		}
		return nil
	})
	waittest.Until(t, "the object that was written first keeps its newest entry only", func() bool {
		items := f.history(configMaps, first).Items
		return len(items) == 1 && items[0].Number == 16
	})
	f.patch(configMaps, first, set("later"))
	if got := f.history(configMaps, first).Items; len(got) != 2 || got[1].Number != 17 || got[1].Truncated {
		t.Errorf("the entries after the bound: %+v", got)
	}
	// The record of an object that another program has deleted in etcd belongs to no object. The next survey removes it.
	if _, err := f.etcd.Delete(t.Context(), "/registry/configmaps/default/bound-7"); err != nil {
		t.Fatal(err)
	}
	n := 0
	waittest.Until(t, "the record without an object is gone", func() bool {
		name := fmt.Sprintf("more-%d", n)
		f.create(configMaps, fmt.Sprintf(recorded, name))
		f.patch(configMaps, name, set(strings.Repeat("x", 1000)))
		n++
		return !strings.Contains(strings.Join(f.keys(), " "), "/bound-7/")
	})
}

// A client that writes much in one namespace, and creates and deletes objects, does not remove the history of other namespaces. Records of
// deleted objects count too.
func TestBoundIsFair(t *testing.T) {
	t.Parallel()
	const total = 40 << 10
	f := start(t, apiserver.Config{History: config.History{Entries: 10, Bytes: 16 << 10, TotalBytes: total, AfterDelete: time.Hour}})
	f.create(configMaps, fmt.Sprintf(recorded, "quiet"))
	for n := range 5 {
		f.patch(configMaps, "quiet", set(fmt.Sprint("quiet", n)))
	}
	f.create(namespaces, `{apiVersion: v1, kind: Namespace, metadata: {name: noisy, labels: {holdfast.dev/history: fields}}}`)
	noisy := f.Dynamic.Resource(configMaps).Namespace("noisy")
	large := func(letter string) string { return set(strings.Repeat(letter, 1500)) }
	for n := range 40 {
		f.create(configMaps, fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: c%d, namespace: noisy}, data: {a: %s}}`, n, strings.Repeat("x", 1500)))
		if _, err := noisy.Patch(t.Context(), fmt.Sprint("c", n), types.MergePatchType, []byte(large("y")), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		if n%2 == 0 {
			if err := noisy.Delete(t.Context(), fmt.Sprint("c", n), metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	n := 0
	waittest.Until(t, "the sum of all keys and values", func() error {
		// The next survey comes after enough writes.
		f.create(configMaps, fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: more-%d, namespace: noisy}}`, n))
		n++
		found, err := f.etcd.Get(t.Context(), "/registry/_holdfast/history", clientv3.WithPrefix())
		if err != nil {
			return err
		}
		sum := 0
		for _, pair := range found.Kvs {
			sum += len(pair.Key) + len(pair.Value)
		}
		if sum > total+total/8 {
			return fmt.Errorf("%d bytes", sum)
		}
		return nil
	})
	if got := f.history(configMaps, "quiet").Items; len(got) != 6 || got[0].Number != 1 {
		t.Errorf("the entries of the other namespace are %+v", got)
	}
	// The newest entry of an object that exists keeps its number, and loses its changes if it is large.
	list, _, err := read(t.Context(), f.Config, strings.Replace(pathOf(configMaps, "c39"), "/default/", "/noisy/", 1), "")
	if err != nil || len(list.Items) == 0 || list.Items[len(list.Items)-1].Number != 2 {
		t.Errorf("the entries of a noisy object are %+v, %v", list.Items, err)
	}
	if _, err := noisy.Patch(t.Context(), "c39", types.MergePatchType, []byte(set("z")), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	list, _, err = read(t.Context(), f.Config, strings.Replace(pathOf(configMaps, "c39"), "/default/", "/noisy/", 1), "")
	if last := list.Items[len(list.Items)-1]; err != nil || last.Number != 3 || last.Truncated {
		t.Errorf("the entries of a noisy object are %+v, %v", list.Items, err)
	}
}

// The names of the writer in an entry are bounded: an authenticator may give a user a name of any length, and the field manager of a deletion
// is any text.
func TestLongNames(t *testing.T) {
	t.Parallel()
	f := start(t, apiserver.Config{History: config.History{AfterDelete: time.Hour}})
	f.create(configMaps, fmt.Sprintf(recorded, "long"))
	as := f.server.As(t, strings.Repeat("user", 1000), "system:masters")
	as.UserAgent = strings.Repeat("agent", 1000)
	client := dynamic.NewForConfigOrDie(as).Resource(configMaps).Namespace("default")
	if _, err := client.Patch(t.Context(), "long", types.MergePatchType, []byte(set("1")), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	rest := kubernetes.NewForConfigOrDie(as).CoreV1().RESTClient()
	err := rest.Delete().AbsPath(pathOf(configMaps, "long")).Param("fieldManager", strings.Repeat("manager", 1000)).
		SetHeader("Kubectl-Command", "kubectl "+strings.Repeat("delete", 1000)).Do(t.Context()).Error()
	if err != nil {
		t.Fatal(err)
	}
	items := f.history(configMaps, "long").Items
	if len(items) != 3 {
		t.Fatalf("the entries are %+v", items)
	}
	for _, entry := range items[1:] {
		if len(entry.User) > 260 || !strings.HasPrefix(entry.User, "useruser") || len(entry.Manager) > 132 || len(entry.Command) > 132 {
			t.Errorf("entry %d has the user %q, the manager %q and the command %q", entry.Number, entry.User, entry.Manager, entry.Command)
		}
	}
}

// The history of a name that had many objects is read without those of the others.
func TestManyDeletedObjects(t *testing.T) {
	t.Parallel()
	f := start(t, apiserver.Config{History: config.History{AfterDelete: time.Hour}})
	for range 110 {
		f.create(configMaps, fmt.Sprintf(recorded, "again"))
		f.remove(configMaps, "again")
	}
	list := f.history(configMaps, "again")
	if len(list.OtherUIDs) != 100 || len(list.Items) != 2 || list.Deleted == nil {
		t.Errorf("%d other UIDs, entries %+v", len(list.OtherUIDs), list.Items)
	}
}

// With AfterDelete the history of a deleted object stays for that long, and is removed after a restart too.
func TestAfterDelete(t *testing.T) {
	t.Parallel()
	f := start(t, apiserver.Config{History: config.History{AfterDelete: time.Hour}})
	created := f.create(configMaps, fmt.Sprintf(recorded, "gone"))
	f.patch(configMaps, "gone", set("1"))
	f.remove(configMaps, "gone")
	list := f.history(configMaps, "gone")
	lines := strings.Split(shown(list), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[2], `3 delete .data: {"a":"1"} -> none .metadata: {`) {
		t.Errorf("history of a deleted object:\n%s", shown(list))
	}
	if list.Deleted == nil || list.Recording || list.UID != string(created.GetUID()) {
		t.Errorf("the list is %+v", list)
	}
	before, err := fieldhistory.Revert(nil, list.Items[2])
	if data, _ := before["data"].(map[string]any); err != nil || data["a"] != "1" {
		t.Errorf("the object before its deletion is %v, %v", before, err)
	}
	if _, _, err := read(t.Context(), f.server.As(t, "nobody"), pathOf(configMaps, "gone"), ""); !apierrors.IsForbidden(err) {
		t.Errorf("a user who may not get the name: %v", err)
	}
	// An object that is off at its deletion has an entry that says nothing of its fields.
	f.create(configMaps, fmt.Sprintf(recorded, "was-off"))
	f.patch(configMaps, "was-off", `{"metadata":{"labels":null}}`)
	f.patch(configMaps, "was-off", set("1"))
	f.remove(configMaps, "was-off")
	if got := shown(f.history(configMaps, "was-off")); !strings.HasSuffix(got, "\n3 delete truncated") {
		t.Errorf("history of an object that was off:\n%s", got)
	}
	// One that never was on has none.
	f.create(configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: never}}`)
	f.remove(configMaps, "never")
	if _, _, err := read(t.Context(), f.Config, pathOf(configMaps, "never"), ""); !apierrors.IsNotFound(err) {
		t.Errorf("an object without history: %v", err)
	}

	again := f.create(configMaps, fmt.Sprintf(recorded, "gone"))
	list = f.history(configMaps, "gone")
	if shown(list) != "1 create" || list.UID != string(again.GetUID()) || !cmp.Equal(list.OtherUIDs, []string{string(created.GetUID())}) {
		t.Errorf("the new object has the history %+v", list)
	}
	list, _, err = read(t.Context(), f.Config, pathOf(configMaps, "gone"), string(created.GetUID()))
	if err != nil || len(list.Items) != 3 || list.Recording {
		t.Errorf("the old object has the history %+v, %v", list, err)
	}
	if _, _, err := read(t.Context(), f.Config, pathOf(configMaps, "gone"), "unknown"); !apierrors.IsNotFound(err) {
		t.Errorf("an unknown UID: %v", err)
	}

	// The old object of a replacement is kept like a deleted one.
	old := again
	again = f.replace(old)
	list = f.history(configMaps, "gone")
	if shown(list) != "1 replace" || list.UID != string(again.GetUID()) || len(list.OtherUIDs) != 2 {
		t.Errorf("the object after the replacement has the history %+v", list)
	}
	list, _, err = read(t.Context(), f.Config, pathOf(configMaps, "gone"), string(old.GetUID()))
	if err != nil || len(list.Items) != 2 || list.Items[1].Operation != fieldhistory.Delete || list.Items[1].Truncated {
		t.Errorf("the replaced object has the history %+v, %v", list, err)
	}

	// A server that keeps nothing removes what the other one kept.
	startOn(t, apiserver.Config{Etcd: f.store})
	waittest.Until(t, "the history of the deleted objects is gone", func() error {
		if keys := f.keys(); len(keys) != 1 || !strings.Contains(keys[0], string(again.GetUID())) {
			return fmt.Errorf("%s", keys)
		}
		return nil
	})
}

// A backup has the history, and the restored server goes on with it.
func TestBackup(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{})
	f := fixture{TB: t, Cluster: server.Cluster(t), server: server}
	f.create(configMaps, fmt.Sprintf(recorded, "kept"))
	f.patch(configMaps, "kept", set("1"))
	f.create(secrets, `{apiVersion: v1, kind: Secret, metadata: {name: kept, labels: {holdfast.dev/history: fields}}, stringData: {a: one}}`)
	f.patch(secrets, "kept", `{"stringData":{"a":"two"}}`)
	_, text, err := read(t.Context(), f.Config, pathOf(configMaps, "kept"), "")
	if err != nil {
		t.Fatal(err)
	}
	archive, err := f.CoreV1().RESTClient().Get().AbsPath(maintenance.BackupPath).DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "restored")
	if _, err := maintenance.Restore(bytes.NewReader(archive), dir); err != nil {
		t.Fatal(err)
	}
	server = servertest.Start(t, apiserver.Config{DataDir: dir})
	f = fixture{TB: t, Cluster: server.Cluster(t), server: server}
	_, restored, err := read(t.Context(), f.Config, pathOf(configMaps, "kept"), "")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(text), string(restored)); diff != "" {
		t.Errorf("history after the restore (-want +got):\n%s", diff)
	}
	// The key of the HMACs is in the backup too.
	f.patch(secrets, "kept", `{"stringData":{"a":"one"}}`)
	items := f.history(secrets, "kept").Items
	if len(items) != 3 || *items[2].Changes[0].ToHash != *items[1].Changes[0].FromHash {
		t.Errorf("the entries are %+v", items)
	}
}

const (
	oldKey = "secretbox: {keys: [{name: old, secret: MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=}]}"
	newKey = "secretbox: {keys: [{name: new, secret: c2VjcmV0IGlzIHNlY3VyZSwgb3IgaXMgaXQ/ISEhISE=}]}"
	both   = "secretbox: {keys: [{name: new, secret: c2VjcmV0IGlzIHNlY3VyZSwgb3IgaXMgaXQ/ISEhISE=}, {name: old, secret: MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=}]}"
)

// Entries are encrypted like their objects. A migration encrypts them with the new key. Without one, the entries of the old key are lost,
// and the objects can be written all the same.
func TestEncryption(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "encryption.yaml")
	encrypt := func(provider string) {
		text := "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n" +
			"- {resources: [secrets], providers: [" + provider + "]}\n- {resources: [configmaps], providers: [" + provider + "]}\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	encrypt("{" + oldKey + "}")
	f := start(t, apiserver.Config{EncryptionConfig: file})
	f.create(secrets, `{apiVersion: v1, kind: Secret, metadata: {name: sealed, labels: {holdfast.dev/history: fields}}, stringData: {a: one}}`)
	f.patch(secrets, "sealed", `{"stringData":{"a":"two"}}`)
	f.create(configMaps, fmt.Sprintf(recorded, "sealed"))
	stored := func() string {
		t.Helper()
		found, err := f.etcd.Get(t.Context(), "/registry/_holdfast/history", clientv3.WithPrefix())
		if err != nil {
			t.Fatal(err)
		}
		var begins []string
		for _, pair := range found.Kvs {
			name, _, _ := strings.Cut(strings.TrimPrefix(string(pair.Key), "/registry/_holdfast/"), ".")
			parts := strings.Split(name, "/")
			begins = append(begins, parts[0]+" "+parts[min(1, len(parts)-1)]+" "+string(pair.Value[:min(25, len(pair.Value))]))
		}
		return strings.Join(begins, "\n")
	}
	of := func(secretKey, configMapKey string) string {
		const form = "k8s:enc:secretbox:v1:%s:"
		secret, configMap := fmt.Sprintf(form, secretKey), fmt.Sprintf(form, configMapKey)
		return "history-key history-key " + secret + "\nhistory configmaps " + configMap + "\nhistory secrets " + secret + "\nhistory secrets " + secret
	}
	if diff := cmp.Diff(of("old", "old"), stored()); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	if err := f.server.Stop(); err != nil {
		t.Fatal(err)
	}

	encrypt("{" + both + "}")
	f = startOn(t, apiserver.Config{EncryptionConfig: file, Etcd: f.store})
	migration := &storagemigrationv1.StorageVersionMigration{
		ObjectMeta: metav1.ObjectMeta{Name: "secrets"},
		Spec:       storagemigrationv1.StorageVersionMigrationSpec{Resource: metav1.GroupResource{Resource: "secrets"}},
	}
	if _, err := f.StoragemigrationV1().StorageVersionMigrations().Create(t.Context(), migration, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the Secrets are written again", func() error {
		found, err := f.StoragemigrationV1().StorageVersionMigrations().Get(t.Context(), "secrets", metav1.GetOptions{})
		if err == nil && !meta.IsStatusConditionTrue(found.Status.Conditions, string(storagemigrationv1.MigrationSucceeded)) {
			err = fmt.Errorf("%+v", found.Status.Conditions)
		}
		return err
	})
	// A client writes the ConfigMaps again, with the new key. Nothing changes, so that there is no entry.
	all, err := f.CoreV1().ConfigMaps("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range all.Items {
		if _, err := f.CoreV1().ConfigMaps(one.Namespace).Patch(t.Context(), one.Name, types.MergePatchType, []byte("{}"), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(of("new", "old"), stored()); diff != "" {
		t.Errorf("stored after the migration (-want +got):\n%s", diff)
	}
	if err := f.server.Stop(); err != nil {
		t.Fatal(err)
	}

	encrypt("{" + newKey + "}")
	f = startOn(t, apiserver.Config{EncryptionConfig: file, Etcd: f.store})
	f.patch(secrets, "sealed", `{"stringData":{"a":"one"}}`)
	items := f.history(secrets, "sealed").Items
	if len(items) != 3 || items[1].Truncated || *items[2].Changes[0].ToHash != *items[1].Changes[0].FromHash {
		t.Errorf("the entries of the Secret are %+v", items)
	}
	f.patch(configMaps, "sealed", set("1"))
	want := "1 update truncated\n2 update truncated\n" + `3 update .data.a: "0" -> "1"`
	if diff := cmp.Diff(want, shown(f.history(configMaps, "sealed"))); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}
