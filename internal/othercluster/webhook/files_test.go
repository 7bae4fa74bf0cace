package webhook_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"holdfast.dev/holdfast/internal/othercluster/webhook"
)

// TestFilesRenewed checks that renewed files are used without a restart and that invalid ones
// are ignored.
func TestFilesRenewed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	renew := func() []byte {
		t.Helper()
		keys, err := secret.Complete(nil, []string{"127.0.0.1"}, time.Now())
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
		first := renew()
		current, err := webhook.KeepFiles(ctx, cert, key)
		if err != nil {
			t.Fatal(err)
		}
		wantCurrent := func(want []byte) {
			t.Helper()
			got, err := current()
			if err != nil || !bytes.Equal(got.Certificate[0], want) {
				t.Errorf("another certificate is in use, %v", err)
			}
		}
		wantCurrent(first)
		second := renew()
		time.Sleep(webhook.ReadInterval)
		synctest.Wait()
		wantCurrent(second)
		if err := os.WriteFile(cert, []byte("?"), 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(webhook.ReadInterval)
		synctest.Wait()
		wantCurrent(second)
	})
}
