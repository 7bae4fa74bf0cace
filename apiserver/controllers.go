package apiserver

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/lifecycle"
)

// handOver is how long a shutdown waits for the controllers to give their lease
// away.
const handOver = time.Second

// addControllers runs the controllers while the server serves. They are the
// first to stop: only a server that still answers can take back their lease.
func (s *Server) addControllers() error {
	identity, err := identityOf(s.config.DataDir)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	err = s.generic.AddPostStartHook("start-controllers", func(hook genericapiserver.PostStartHookContext) error {
		go func() {
			defer close(done)
			select {
			case <-s.bootstrapped: // their lease lies in a namespace
			case <-ctx.Done():
				return
			}
			config := lifecycle.Config{Client: hook.LoopbackClientConfig, Identity: identity, RootCA: s.pki.Authority().CertPEM}
			if !s.config.WithoutOperators {
				config.Led = append(config.Led, s.runOperators)
			}
			if err := lifecycle.Run(ctx, config); err != nil {
				klog.ErrorS(err, "controllers ended")
			}
		}()
		return nil
	})
	if err != nil {
		cancel()
		return err
	}
	return s.generic.AddPreShutdownHook("stop-controllers", func() error {
		cancel()
		select {
		case <-done:
		case <-time.After(handOver):
		}
		return nil
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
