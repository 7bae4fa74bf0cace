package node

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lockRoot creates the directory and locks it. The kernel releases the lock when the
// process ends, even after a crash.
func lockRoot(dir string) (*rootLock, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = lock.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%s is in use by another agent", dir)
		}
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	return &rootLock{lock}, nil
}

// rootLock is the lock of a root directory.
type rootLock struct {
	file *os.File
}

// Close releases the lock. Closing the file is not enough: a child process that is
// just being started also has the file open for a moment, and would keep the lock.
func (l *rootLock) Close() error {
	return errors.Join(syscall.Flock(int(l.file.Fd()), syscall.LOCK_UN), l.file.Close())
}
