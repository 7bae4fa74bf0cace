package projection

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// FS is the file system that a Writer uses. Each method makes one change, so a test can
// simulate a crash between any two changes.
type FS interface {
	// Mkdir creates one directory with exactly this mode, whatever the umask.
	Mkdir(path string, mode fs.FileMode) error
	// WriteFile creates a new file with exactly this mode and group, and syncs it to
	// disk. It returns a *GroupError if it may not set the group. The entry in its directory is on disk only after SyncDir.
	WriteFile(path string, file File) error
	// SyncDir syncs the entries of a directory to disk.
	SyncDir(path string) error
	// Symlink creates a symbolic link.
	Symlink(target, path string) error
	// Rename renames a file or link. If the new path exists, it is replaced atomically.
	Rename(from, to string) error
	// Remove removes a file, a link or an empty directory.
	Remove(path string) error

	// ReadFile returns the content of a file.
	ReadFile(path string) ([]byte, error)
	// Readlink returns the target of a link.
	Readlink(path string) (string, error)
	// ReadDir returns the entries of a directory, sorted by name.
	ReadDir(path string) ([]fs.DirEntry, error)
	// Lstat describes a file, directory or link; it does not follow a link.
	Lstat(path string) (fs.FileInfo, error)
}

// OS is the file system of the host.
type OS struct{}

var _ FS = OS{}

// Mkdir implements FS.
func (OS) Mkdir(path string, mode fs.FileMode) error {
	if err := os.Mkdir(path, mode); err != nil {
		return err
	}
	return os.Chmod(path, mode) // os.Mkdir applies the umask
}

// WriteFile implements FS.
func (OS) WriteFile(path string, file File) error {
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = out.Write(file.Data)
	if err == nil && file.Group != nil {
		err = groupError(out.Chown(-1, *file.Group), *file.Group)
	}
	if err == nil {
		err = out.Chmod(file.Mode)
	}
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}

// SyncDir implements FS.
func (OS) SyncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Symlink implements FS.
func (OS) Symlink(target, path string) error { return os.Symlink(target, path) }

// Rename implements FS.
func (OS) Rename(from, to string) error { return os.Rename(from, to) }

// Remove implements FS.
func (OS) Remove(path string) error { return os.Remove(path) }

// ReadFile implements FS.
func (OS) ReadFile(path string) ([]byte, error) { return os.ReadFile(path) }

// Readlink implements FS.
func (OS) Readlink(path string) (string, error) { return os.Readlink(path) }

// ReadDir implements FS.
func (OS) ReadDir(path string) ([]fs.DirEntry, error) { return os.ReadDir(path) }

// Lstat implements FS.
func (OS) Lstat(path string) (fs.FileInfo, error) { return os.Lstat(path) }

// GroupError reports that the process may not give files to a group.
type GroupError struct {
	Group int
	Err   error
}

// Error implements error.
func (e *GroupError) Error() string {
	return fmt.Sprintf("the files cannot be given to group %d: this agent runs as user %d, which is not root and not in that group: %v",
		e.Group, os.Geteuid(), e.Err)
}

// Unwrap returns the error of the operating system.
func (e *GroupError) Unwrap() error { return e.Err }

// SetGroup sets the group of a file or directory, and does not follow links. The error is a
// *GroupError if the process may not do that.
func SetGroup(path string, group int) error {
	return groupError(os.Lchown(path, -1, group), group)
}

func groupError(err error, group int) error {
	if errors.Is(err, fs.ErrPermission) {
		return &GroupError{Group: group, Err: err}
	}
	return err
}
