package projection

import (
	"errors"
	"io/fs"
	"os"
)

// FS is what a Writer needs of a file system. None of the calls follows a link
// in the last element of a path, and each makes one change, so that a test can
// end a writer between any two of them.
type FS interface {
	// Mkdir makes one directory with just this mode.
	Mkdir(path string, mode fs.FileMode) error
	// WriteFile makes a new file with just this mode, and returns when its
	// content and mode are on disk. Its name is there after a SyncDir.
	WriteFile(path string, file File) error
	// SyncDir returns when the entries of a directory are on disk.
	SyncDir(path string) error
	Symlink(target, path string) error
	Rename(from, to string) error
	// Remove removes a file, a link or an empty directory.
	Remove(path string) error

	ReadFile(path string) ([]byte, error)
	Readlink(path string) (string, error)
	// ReadDir lists a directory in the order of names.
	ReadDir(path string) ([]fs.DirEntry, error)
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
	return os.Chmod(path, mode) // whatever the umask
}

// WriteFile implements FS.
func (OS) WriteFile(path string, file File) error {
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = out.Write(file.Data)
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
