package maintenance

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/backup"
)

// Restored describes a restored data directory.
type Restored struct {
	backup.Info
	// EncryptionConfig is the file with the keys of encrypted objects, "" if the server had none.
	EncryptionConfig string
}

// Restore writes the data directory of a server from a backup. The directory must be empty or not exist. If
// Restore returns an error, the directory is as before.
//
// Objects keep their UIDs and resourceVersions. A client that watches from a resourceVersion of the old
// server gets 410 and lists again.
func Restore(from io.Reader, dataDir string) (_ Restored, err error) {
	if err := checkEmpty(dataDir); err != nil {
		return Restored{}, err
	}
	if err := os.MkdirAll(filepath.Dir(dataDir), 0o700); err != nil {
		return Restored{}, err
	}
	// The rename at the end needs both directories in one file system.
	dir, err := os.MkdirTemp(filepath.Dir(dataDir), ".restore-")
	if err != nil {
		return Restored{}, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	info, err := backup.Extract(from, dir)
	if err != nil {
		return Restored{}, err
	}
	database := filepath.Join(dir, backupDatabase)
	if err := etcd.Restore(database, filepath.Join(dir, "etcd")); err != nil {
		return Restored{}, fmt.Errorf("restore the objects: %w", err)
	}
	if err := os.Remove(database); err != nil {
		return Restored{}, err
	}
	if err := moveInto(dir, dataDir); err != nil {
		return Restored{}, err
	}
	restored := Restored{Info: info}
	if name := filepath.Join(dataDir, backupEncryption); exists(name) {
		restored.EncryptionConfig = name
	}
	return restored, nil
}

// checkEmpty returns an error unless a directory is empty or does not exist.
func checkEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case len(entries) > 0:
		return fmt.Errorf("%s is not empty: name a new directory, or move the old one away", dir)
	}
	return nil
}

// moveInto renames a directory to the name of an empty or missing one.
func moveInto(dir, target string) error {
	if err := os.Remove(target); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(dir, target); err != nil {
		return err
	}
	parent, err := os.Open(filepath.Dir(target))
	if err != nil {
		return err
	}
	return errors.Join(parent.Sync(), parent.Close())
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
