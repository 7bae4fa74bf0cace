package access_test

import (
	"crypto/ecdsa"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast.dev/holdfast/internal/access"
)

func TestServiceAccountKeyIsKept(t *testing.T) {
	dir := t.TempDir()
	open := func() (*access.PKI, *ecdsa.PrivateKey) {
		pki, err := access.OpenPKI(dir, []string{"127.0.0.1"})
		if err != nil {
			t.Fatal(err)
		}
		key, err := pki.ServiceAccountKey()
		if err != nil {
			t.Fatal(err)
		}
		return pki, key
	}
	pki, first := open()
	if _, second := open(); !first.Equal(second) {
		t.Error("another key after a restart")
	}
	path := filepath.Join(dir, "sa.key")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	if err := os.WriteFile(path, []byte("half a key"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := pki.ServiceAccountKey(); err == nil || !strings.Contains(err.Error(), "no PEM data") {
		t.Errorf("a broken key: %v", err)
	}
}
