package maintenance_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/server/options/encryptionconfig"
	"k8s.io/apiserver/pkg/storage/value"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/maintenance"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/backup"
)

const (
	secretA = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
	secretB = "c2VjcmV0IGlzIHNlY3VyZSwgb3IgaXMgaXQ/ISEhISE="
)

// encryptionFile writes an EncryptionConfiguration of resources, with providers.
func encryptionFile(t *testing.T, resources string, providers ...string) string {
	t.Helper()
	text := "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources: [" + resources + "]\n  providers:\n"
	for _, provider := range providers {
		text += "  - " + provider + "\n"
	}
	file := filepath.Join(t.TempDir(), "encryption.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// provider returns a provider with one key.
func provider(kind, name, secret string) string {
	return kind + ": {keys: [{name: " + name + ", secret: " + secret + "}]}"
}

const cloud = "kms: {apiVersion: v2, name: cloud, endpoint: 'unix:///nonexistent/kms.sock', timeout: 1ms}"

// TestKeysOfBackup checks which EncryptionConfiguration a backup of encrypted objects needs. The objects are
// encrypted with four providers.
func TestKeysOfBackup(t *testing.T) {
	t.Parallel()
	config := apiserver.Config{DataDir: t.TempDir(), Etcd: etcd.Cluster{Servers: []string{servertest.StartEtcd(t, transport.TLSInfo{})}}}
	if err := servertest.Start(t, config).Stop(); err != nil {
		t.Fatal(err)
	}
	store, err := clientv3.New(clientv3.Config{Endpoints: config.Etcd.Servers})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	cbc, gcm, box := provider("aescbc", "a", secretA), provider("aesgcm", "b", secretA), provider("secretbox", "c", secretA)
	for key, file := range map[string]string{
		"/registry/secrets/default/a":             encryptionFile(t, "secrets", cbc),
		"/registry/secrets/default/b":             encryptionFile(t, "secrets", gcm),
		"/registry/example.com/widgets/default/c": encryptionFile(t, "widgets.example.com", box),
		// The history of an object is encrypted like the object.
		"/registry/_holdfast/history/widgets.example.com/default/c/uid/0000000000000000001": encryptionFile(t, "widgets.example.com", box),
	} {
		loaded, err := encryptionconfig.LoadEncryptionConfig(t.Context(), file, false, "")
		if err != nil {
			t.Fatal(err)
		}
		resource := schema.GroupResource{Resource: "secrets"}
		if strings.Contains(key, "widgets") {
			resource = schema.GroupResource{Group: "example.com", Resource: "widgets"}
		}
		sealed, err := loaded.Transformers[resource].TransformToStorage(t.Context(), []byte("{}"), value.DefaultContext(key))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.Put(t.Context(), key, string(sealed)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := store.Put(t.Context(), "/registry/secrets/default/d", "k8s:enc:kms:v2:cloud:text"); err != nil {
		t.Fatal(err)
	}

	all := []string{"aescbc/a", "aesgcm/b", "kms/cloud", "secretbox/c"}
	const everything = "secrets, widgets.example.com"
	tests := map[string]struct {
		file        string
		withoutKeys bool
		// refused are parts of the error; present are the keys of the backup.
		refused, present []string
	}{
		"no configuration": {refused: []string{
			"aescbc/a", "aesgcm/b", "kms/cloud", "secretbox/c", "--encryption-provider-config", "--without-keys",
		}},
		"without keys": {withoutKeys: true, present: []string{}},
		"all keys":     {file: encryptionFile(t, everything, cbc, gcm, box, cloud), present: all},
		"more than needed": {
			file:    encryptionFile(t, everything, provider("aesgcm", "z", secretB), cbc, gcm, box, cloud),
			present: []string{"aescbc/a", "aesgcm/b", "aesgcm/z", "kms/cloud", "secretbox/c"},
		},
		"one is missing": {file: encryptionFile(t, everything, cbc, box, cloud), refused: []string{"with the key aesgcm/b (objects: 1), and "}},
		"no KMS":         {file: encryptionFile(t, everything, cbc, gcm, box), refused: []string{"with the key kms/cloud (objects: 1), and "}},
		"for other resources": {
			file: encryptionFile(t, "secrets", cbc, gcm, box, cloud), refused: []string{"with the key secretbox/c (objects: 2), and "},
		},
		"other secrets of the same names": {
			file: encryptionFile(t, everything, provider("aescbc", "a", secretB), provider("aesgcm", "b", secretB),
				provider("secretbox", "c", secretB), cloud),
			refused: []string{"with the key aescbc/a (objects: 1) and the key aesgcm/b (objects: 1) and the key secretbox/c (objects: 2), and "},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			config := config
			config.EncryptionConfig = test.file
			var archive bytes.Buffer
			err := maintenance.Backup(t.Context(), config, maintenance.BackupOptions{WithoutKeys: test.withoutKeys}, &archive)
			if len(test.refused) > 0 {
				for _, part := range test.refused {
					if err == nil || !strings.Contains(err.Error(), part) {
						t.Errorf("got %v, want %q", err, part)
					}
				}
				if archive.Len() > 0 {
					t.Error("a refused backup was written")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			info, err := backup.Check(&archive)
			if err != nil {
				t.Fatal(err)
			}
			want := &backup.Encryption{Needed: all, Present: test.present}
			if diff := cmp.Diff(want, info.Encryption); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestKeysOfRunningServer checks that a running server refuses a backup if its EncryptionConfiguration no longer
// has a key that objects need, and that a server restored without keys says which it needs.
func TestKeysOfRunningServer(t *testing.T) {
	t.Parallel()
	file := encryptionFile(t, "secrets", provider("secretbox", "c", secretA))
	server := servertest.Start(t, apiserver.Config{EncryptionConfig: file})
	client := server.Client(t)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}, StringData: map[string]string{"k": "v"}}
	if _, err := client.CoreV1().Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	changed, err := os.ReadFile(encryptionFile(t, "secrets", provider("secretbox", "other", secretB)))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, changed, 0o600); err != nil {
		t.Fatal(err)
	}
	get := client.CoreV1().RESTClient().Get
	err = get().AbsPath(maintenance.BackupPath).Do(t.Context()).Error()
	if err == nil || !strings.Contains(err.Error(), "stored objects are encrypted with the key secretbox/c (objects: 1), and "+file) {
		t.Errorf("the file has another key: %v", err)
	}
	archive, err := get().AbsPath(maintenance.BackupPath).Param(maintenance.WithoutKeysParameter, "true").Do(t.Context()).Raw()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "restored")
	restored, err := maintenance.Restore(bytes.NewReader(archive), dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"secretbox/c"}, restored.Encryption.Missing()); diff != "" || restored.EncryptionConfig != "" {
		t.Errorf("configuration %q, missing keys (-want +got):\n%s", restored.EncryptionConfig, diff)
	}
	for configuration, want := range map[string]string{
		"":   "encryption: secrets/default/s is encrypted with the key secretbox/c, which is not configured",
		file: "encryption: secrets/default/s is encrypted with the key secretbox/c, which is not configured",
		encryptionFile(t, "secrets", provider("secretbox", "c", secretB)): "the configured key of this name does not decrypt it",
	} {
		started, err := servertest.Launch(apiserver.Config{DataDir: dir, EncryptionConfig: configuration})
		if err == nil {
			_ = started.Stop()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
