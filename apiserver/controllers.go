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

// addControllers runs the controllers while the server serves. They are the
// first to stop: only a server that still answers can take back their lease.
func (s *Server) addControllers() error {
	identity, err := identityOf(s.config.DataDir)
	if err != nil {
		return err
	}
	return s.whileServing("start-controllers", func(ctx context.Context) {
		select {
		case <-s.bootstrapped: // their lease lies in a namespace
		case <-ctx.Done():
			return
		}
		config := lifecycle.Config{Client: s.loopback, Identity: identity, RootCA: s.pki.Authority().CertPEM}
		if !s.config.WithoutOperators {
			config.Led = append(config.Led, s.runOperators)
		}
		if err := lifecycle.Run(ctx, config); err != nil {
			klog.ErrorS(err, "controllers ended")
		}
	})
}

// identityOf names this server among those that share an etcd. It stays the
// same over restarts, so that a server goes on with the lease it left behind.
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
