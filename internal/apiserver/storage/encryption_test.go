package storage_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

const (
	plaintext = "a-very-plain-text-that-must-not-be-found"
	firstKey  = "c2VjcmV0IGlzIHNlY3VyZSwgb3IgaXMgaXQ/ISEhISE="
	secondKey = "dGhpcyBpcyBwYXNzd29yZCwgb3IgaXMgaXQ/ISEhISE="
)

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func encryption(keys ...string) string {
	text := `apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [secrets]
  providers:
  - secretbox:
      keys:
`
	for _, key := range keys {
		text += "      - {name: k" + key[:4] + ", secret: " + key + "}\n"
	}
	return text + "  - identity: {}\n"
}

// inFiles says whether a file below dir holds the text.
func inFiles(t *testing.T, dir, text string) bool {
	t.Helper()
	found := false
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		found = found || bytes.Contains(data, []byte(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// The files of etcd do not hold the value of a Secret. To rotate keys, every Secret is
// written again, immutable ones too.
func TestSecretsAreEncrypted(t *testing.T) {
	t.Parallel()
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "encryption.yaml")
	write(t, file, encryption(firstKey))
	server := servertest.Start(t, apiserver.Config{DataDir: dir, EncryptionConfig: file})
	sealed := true
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "sealed"}, Immutable: &sealed, StringData: map[string]string{"password": plaintext},
	}
	if _, err := server.Client(t).CoreV1().Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	if inFiles(t, filepath.Join(dir, "etcd"), plaintext) {
		t.Error("etcd's files hold the plain text")
	}

	rotate := func(keys ...string) *corev1.Secret {
		t.Helper()
		write(t, file, encryption(keys...))
		server := servertest.Start(t, apiserver.Config{DataDir: dir, EncryptionConfig: file})
		secrets := server.Client(t).CoreV1().Secrets("default")
		found, err := secrets.Get(t.Context(), "sealed", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		updated, err := secrets.Update(t.Context(), found, metav1.UpdateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := server.Stop(); err != nil {
			t.Fatal(err)
		}
		return updated
	}
	rotate(secondKey, firstKey)
	if found := rotate(secondKey); string(found.Data["password"]) != plaintext {
		t.Errorf("with the first key gone the value is %q", found.Data["password"])
	}
}

// A server that cannot decrypt a stored object ends with an error that names the object.
func TestUnreadableSecretsEndTheStart(t *testing.T) {
	t.Parallel()
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "encryption.yaml")
	put := func(config apiserver.Config, name string) {
		t.Helper()
		config.DataDir = dir
		server := servertest.Start(t, config)
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: map[string]string{"password": plaintext}}
		if _, err := server.Client(t).CoreV1().Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := server.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(config apiserver.Config, want string) {
		t.Helper()
		config.DataDir = dir
		server, err := servertest.Launch(config)
		if err == nil {
			err = server.Stop()
			t.Fatalf("the server was ready, and ended with %v", err)
		}
		if !strings.HasSuffix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	const advice = "is encrypted with the key secretbox/kc2Vj, which is not configured: start with the --encryption-provider-config that it was " +
		"written with"

	// The first Secret is readable, a later one is not.
	put(apiserver.Config{}, "a")
	write(t, file, encryption(firstKey))
	put(apiserver.Config{EncryptionConfig: file}, "b")
	refused(apiserver.Config{}, "encryption: secrets/default/b "+advice)

	client := servertest.Start(t, apiserver.Config{DataDir: dir, EncryptionConfig: file})
	if err := client.Client(t).CoreV1().Secrets("default").Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := client.Stop(); err != nil {
		t.Fatal(err)
	}
	refused(apiserver.Config{}, "encryption: secrets/default/b "+advice)
	write(t, file, encryption(secondKey))
	refused(apiserver.Config{EncryptionConfig: file}, "encryption: secrets/default/b "+advice)

	// With the right key, all Secrets can be read.
	write(t, file, encryption(secondKey, firstKey))
	server := servertest.Start(t, apiserver.Config{DataDir: dir, EncryptionConfig: file})
	if _, err := server.Client(t).CoreV1().Secrets("default").Get(t.Context(), "b", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

// A server that cannot decrypt a custom resource ends with an error that names the object and the key.
func TestUnreadableCustomResourcesEndTheStart(t *testing.T) {
	t.Parallel()
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "encryption.yaml")
	write(t, file, strings.Replace(encryption(firstKey), "secrets", "boats.example.com", 1))
	server := servertest.Start(t, apiserver.Config{DataDir: dir, EncryptionConfig: file})
	for _, object := range []struct{ path, body string }{
		{"/apis/apiextensions.k8s.io/v1/customresourcedefinitions", `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
"metadata":{"name":"boats.example.com"},"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"boats","kind":"Boat"},
"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`},
		{"/apis/example.com/v1/namespaces/default/boats", `{"apiVersion":"example.com/v1","kind":"Boat","metadata":{"name":"b"}}`},
	} {
		waittest.Until(t, "created at "+object.path, func() error {
			err := server.Client(t).CoreV1().RESTClient().Post().AbsPath(object.path).Body([]byte(object.body)).
				SetHeader("Content-Type", "application/json").Do(t.Context()).Error()
			return err
		})
	}
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	const want = "encryption: example.com/boats/default/b is encrypted with the key secretbox/kc2Vj, which is not configured"
	server, err := servertest.Launch(apiserver.Config{DataDir: dir})
	if err == nil {
		_ = server.Stop()
	}
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}
