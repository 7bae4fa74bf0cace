package node

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lockRoot makes the directory and takes its lock, which the kernel gives back
// when the process ends, however it ends.
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

// rootLock is the lock of a root.
type rootLock struct {
	file *os.File
}

// Close gives the lock back. It does not leave that to the end of the file, which
// a process that is just being started has open for a moment as well.
func (l *rootLock) Close() error {
	return errors.Join(syscall.Flock(int(l.file.Fd()), syscall.LOCK_UN), l.file.Close())
}
