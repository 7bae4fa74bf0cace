package access_test

import (
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"

	"holdfast.dev/holdfast/internal/access"
)

var hosts = []string{"localhost", "127.0.0.1"}

// files returns the content of every file in a directory, by file name.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	content := map[string]string{}
	for _, entry := range entries {
		data, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		content[entry.Name()] = string(data)
	}
	return content
}

func readCertificate(t *testing.T, path string) *x509.Certificate {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(data)
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

func TestOpenPKICreatesCertificates(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	pki, err := access.OpenPKI(dir, hosts)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pki.Authority().CertPEM)

	serving := readCertificate(t, pki.ServingCertFile())
	for _, host := range hosts {
		if _, err := serving.Verify(x509.VerifyOptions{Roots: roots, DNSName: host}); err != nil {
			t.Errorf("serving certificate for %s: %v", host, err)
		}
	}
	if _, ok := serving.PublicKey.(*ecdsa.PublicKey); !ok {
		t.Errorf("the serving key is a %T", serving.PublicKey)
	}
	admin := readCertificate(t, filepath.Join(dir, "admin.crt"))
	asClient := x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	if _, err := admin.Verify(asClient); err != nil {
		t.Errorf("admin certificate: %v", err)
	}
	if admin.Subject.CommonName != access.AdminUser || admin.Subject.Organization[0] != access.AdminGroup {
		t.Errorf("admin certificate is of %s", admin.Subject)
	}
	for name, mode := range map[string]os.FileMode{"ca.key": 0o600, "serving.key": 0o600, "admin.key": 0o600, "front-proxy-ca.key": 0o600, ".": 0o700} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s has mode %o (%v), want %o", name, info.Mode().Perm(), err, mode)
		}
	}
}

func TestPKIRenews(t *testing.T) {
	dir := t.TempDir()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	open := func(now time.Time, hosts []string) map[string]string {
		t.Helper()
		if _, err := access.OpenPKIAt(dir, hosts, func() time.Time { return now }); err != nil {
			t.Fatal(err)
		}
		return files(t, dir)
	}
	before := open(start, hosts)
	renewedEachYear := []string{"serving", "admin", "kubelet-client", "front-proxy-client"}
	// Each case opens the directory that the case before it left.
	cases := []struct {
		name    string
		after   time.Duration
		hosts   []string
		renewed []string
	}{
		{"the same day", time.Hour, hosts, nil},
		{"more than 60 days before expiry", 300 * 24 * time.Hour, hosts, nil},
		{"less than 60 days before expiry", 310 * 24 * time.Hour, hosts, renewedEachYear},
		{"an additional host", 311 * 24 * time.Hour, append(hosts, "192.0.2.1"), []string{"serving"}},
	}
	for _, c := range cases {
		after := open(start.Add(c.after), c.hosts)
		for name := range before {
			changed := after[name] != before[name]
			want := slices.Contains(c.renewed, strings.TrimSuffix(name, filepath.Ext(name)))
			if changed != want {
				t.Errorf("%s: %s changed: %t, want %t", c.name, name, changed, want)
			}
		}
		before = after
	}
}

// A new authority would invalidate every certificate issued so far, so OpenPKI
// never replaces one that is incomplete.
func TestOpenPKIKeepsBrokenAuthority(t *testing.T) {
	tests := map[string]struct {
		breakKey func(t *testing.T, path string) error
		want     string
	}{
		"key of another authority": {
			breakKey: func(t *testing.T, path string) error {
				other := t.TempDir()
				if _, err := access.OpenPKI(other, hosts); err != nil {
					return err
				}
				otherKey, err := os.ReadFile(filepath.Join(other, "ca.key"))
				return errors.Join(err, os.WriteFile(path, otherKey, 0o600))
			},
			want: "ca.crt: key and certificate do not belong together",
		},
		"certificate missing": {
			breakKey: func(_ *testing.T, path string) error { return os.Remove(strings.TrimSuffix(path, "key") + "crt") },
			want:     "the authority is incomplete, restore it from a backup: open ",
		},
		"key missing": {
			breakKey: func(_ *testing.T, path string) error { return os.Remove(path) },
			want:     "ca.key: no such file",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if _, err := access.OpenPKI(dir, hosts); err != nil {
				t.Fatal(err)
			}
			if err := test.breakKey(t, filepath.Join(dir, "ca.key")); err != nil {
				t.Fatal(err)
			}
			before := files(t, dir)
			if _, err := access.OpenPKI(dir, hosts); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
			if diff := cmp.Diff(before, files(t, dir)); diff != "" {
				t.Errorf("files changed (-before +after):\n%s", diff)
			}
		})
	}
}

// A process that died during the first start leaves the key of an authority that has issued
// nothing.
func TestOpenPKIAfterInterruptedStart(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ca.key"), []byte("half a key"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := access.OpenPKI(dir, hosts); err != nil {
			t.Fatal(err)
		}
	}
}

// A file that is no kubeconfig stays as it is.
func TestKubeconfigKeepsOtherFiles(t *testing.T) {
	pki, err := access.OpenPKI(t.TempDir(), hosts)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "notes.txt")
	for text, want := range map[string]string{"": "", "clusters: 7": "is not a kubeconfig and is not replaced", "{": "is not a kubeconfig"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		err := pki.WriteKubeconfig(path, "https://127.0.0.1:6443")
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v", text, err)
		}
		if after, _ := os.ReadFile(path); err != nil && string(after) != text {
			t.Errorf("%q was replaced by %q", text, after)
		}
	}
}

// A user's settings stay when the server writes the file again.
func TestKubeconfigKeepsEdits(t *testing.T) {
	pki, err := access.OpenPKI(t.TempDir(), hosts)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "admin.kubeconfig")
	if err := pki.WriteKubeconfig(path, "https://127.0.0.1:6443"); err != nil {
		t.Fatal(err)
	}
	edited, err := clientcmd.LoadFromFile(path)
	if err != nil {
		t.Fatal(err)
	}
	edited.Contexts["holdfast"].Namespace = "demo"
	if err := clientcmd.WriteToFile(*edited, path); err != nil {
		t.Fatal(err)
	}
	if err := pki.WriteKubeconfig(path, "https://127.0.0.1:7443"); err != nil {
		t.Fatal(err)
	}
	written, err := clientcmd.LoadFromFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := written.Contexts["holdfast"].Namespace; got != "demo" {
		t.Errorf("the namespace is %q", got)
	}
	if got := written.Clusters["holdfast"].Server; got != "https://127.0.0.1:7443" {
		t.Errorf("the server is %q", got)
	}
}

func TestKubeconfigEmbedsCredentials(t *testing.T) {
	pki, err := access.OpenPKI(t.TempDir(), hosts)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "sub", "admin.kubeconfig")
	if err := pki.WriteKubeconfig(path, "https://127.0.0.1:6443"); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	if config.Host != "https://127.0.0.1:6443" {
		t.Errorf("server is %s", config.Host)
	}
	if _, err := tls.X509KeyPair(config.CertData, config.KeyData); err != nil {
		t.Error(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %o, %v", info.Mode().Perm(), err)
	}
}
