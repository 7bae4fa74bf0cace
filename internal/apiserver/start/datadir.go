package start

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/google/uuid"
)

// lockDataDir creates the directory and locks it. The kernel releases the lock when
// the process ends, even if it is killed.
func lockDataDir(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, unusable(err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, unusable(err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = lock.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("data directory %s: in use by another holdfast server: stop that server, or name another directory with --data-dir", dir)
		}
		return nil, fmt.Errorf("data directory %s: lock: %w", dir, err)
	}
	return lock, nil
}

// unusable returns the error about a data directory that cannot be created or written.
func unusable(err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("data directory: %w: it belongs to another user: run the command as that user, or name another directory with --data-dir", err)
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, fs.ErrExist):
		return fmt.Errorf("data directory: %w: a file is in the way: name another directory with --data-dir", err)
	}
	return fmt.Errorf("data directory: %w", err)
}

// ServerIdentity returns the name of this server among those that share an etcd. It stays
// the same over restarts, so that a restarted server continues with its own lease.
func ServerIdentity(dataDir string) (string, error) {
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
	name := host + "_" + uuid.NewString()
	return name, os.WriteFile(path, []byte(name+"\n"), 0o600)
}
