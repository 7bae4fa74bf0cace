package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// lockRoot creates the directory, locks it, and checks that it belongs to the node. The
// kernel releases the lock when the process ends, even after a crash.
func lockRoot(claim Claim) (*rootLock, error) {
	dir := claim.Root
	// Every user must be able to enter a root that the agent creates, whatever the umask.
	// A root that exists keeps its mode.
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		if err := makeOpenDir(dir); err != nil {
			return nil, err
		}
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
	locked := &rootLock{lock}
	if err := claim.write(); err != nil {
		return nil, errors.Join(err, locked.Close())
	}
	return locked, nil
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
