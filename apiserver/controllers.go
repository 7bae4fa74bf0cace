package apiserver

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/lifecycle"
)

// addControllers runs the controllers while the server serves, and led beside them on
// the server that holds the lease. They stop before the server does: they release
// their lease through its API.
func addControllers(b base, h *hooks, bootstrapped <-chan struct{}, led []func(context.Context)) error {
	identity, err := identityOf(b.config.DataDir)
	if err != nil {
		return err
	}
	return h.whileServing("start-controllers", func(ctx context.Context) {
		select {
		case <-bootstrapped: // the namespace of their lease exists
		case <-ctx.Done():
			return
		}
		config := lifecycle.Config{
			Client: b.generic.LoopbackClientConfig, Identity: identity, RootCA: b.pki.Authority().CertPEM, RunWhileLeading: led,
		}
		if err := lifecycle.Run(ctx, config); err != nil {
			klog.ErrorS(err, "controllers ended")
		}
	})
}

// identityOf returns the name of this server among those that share an etcd. It stays
// the same over restarts, so that a restarted server continues with its own lease.
func identityOf(dataDir string) (string, error) {
	path := filepath.Join(dataDir, "identity")
	data, err := os.ReadFile(path)
	if err == nil && len(data) > 0 {
		return strings.TrimSpace(string(data)), nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	host, err := os.Hostname()
	if err != nil {
		return "", err
	}
	identity := host + "_" + uuid.NewString()
	return identity, os.WriteFile(path, []byte(identity+"\n"), 0o600)
}
