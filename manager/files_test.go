package manager_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"holdfast.dev/holdfast/manager"
)

// Files that somebody renews are shown without a restart; broken ones are not.
func TestFilesRenewed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	bring := func() []byte {
		t.Helper()
		keys, err := manager.CompleteKeys(nil, []string{"127.0.0.1"}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		for path, text := range map[string][]byte{cert: keys["tls.crt"], key: keys["tls.key"]} {
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return certificate(t, keys, "tls.crt").Raw
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		first := bring()
		current, err := manager.KeepFiles(ctx, cert, key)
		if err != nil {
			t.Fatal(err)
		}
		shows := func(want []byte) {
			t.Helper()
			shown, err := current()
			if err != nil || !bytes.Equal(shown.Certificate[0], want) {
				t.Errorf("another certificate is shown, %v", err)
			}
		}
		shows(first)
		second := bring()
		time.Sleep(manager.ReadEvery)
		synctest.Wait()
		shows(second)
		if err := os.WriteFile(cert, []byte("?"), 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(manager.ReadEvery)
		synctest.Wait()
		shows(second)
	})
}
