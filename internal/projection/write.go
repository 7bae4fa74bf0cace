package projection

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"time"
)

const (
	// dataLink points to the current set. A new link is created as nextLink and then
	// renamed to dataLink.
	dataLink = "..data"
	nextLink = "..data_tmp"
	// setTime is the time format of the name of a set.
	setTime = "..2006_01_02_15_04_05.000000000"

	dirMode = 0o755
)

// Writer writes volumes. The zero value writes to the file system of the host.
type Writer struct {
	// FS is the file system; nil means the file system of the host.
	FS FS
	// Now returns the time for the names of sets; nil means time.Now.
	Now func() time.Time
}

// Write replaces the files of a volume with the payload. It creates the directory dir
// and its parents if they are missing. It writes nothing if neither content nor modes
// differ.
//
// changed reports whether Write made a new set the current one. It is false if the volume
// already had this payload. It may be true together with an error: then the new files are
// in place, only the last sync or the clean-up failed, and the next Write or Repair
// completes it.
func (w Writer) Write(dir string, payload Payload) (changed bool, err error) {
	if err := payload.Check(); err != nil {
		return false, err
	}
	if err := w.makeDir(dir); err != nil {
		return false, err
	}
	current, err := w.readLayout(dir)
	if err != nil {
		return false, err
	}
	if files, err := w.readSet(filepath.Join(dir, current.set)); current.set != "" && err == nil && files.Equal(payload) {
		return false, w.cleanUp(dir, payload.topNames())
	}
	if err := w.Repair(dir); err != nil {
		return false, err
	}
	set, err := w.stage(dir, payload)
	if err == nil {
		// Create the links before the swap, so that every file can be read as soon as
		// the new set is the current one.
		err = w.link(dir, payload.topNames())
	}
	if err == nil {
		// The set has to be on disk before ..data points to it.
		err = w.fs().SyncDir(dir)
	}
	if err == nil {
		err = w.swap(dir, set)
	}
	if err != nil {
		return false, errors.Join(err, w.abandon(dir, set))
	}
	if err := w.fs().SyncDir(dir); err != nil {
		return true, err
	}
	return true, w.cleanUp(dir, payload.topNames())
}

// stage writes the files of the payload to a new set, syncs them and returns the name of
// the set.
func (w Writer) stage(dir string, payload Payload) (string, error) {
	set, err := w.makeSet(dir)
	if err != nil {
		return "", err
	}
	dirs := map[string]bool{".": true}
	for _, file := range slices.Sorted(maps.Keys(payload)) {
		for _, parent := range parents(file) {
			if dirs[parent] {
				continue
			}
			if err := w.fs().Mkdir(filepath.Join(dir, set, parent), dirMode); err != nil {
				return set, err
			}
			dirs[parent] = true
		}
		content := payload[file]
		content.Mode = content.Mode.Perm()
		if err := w.fs().WriteFile(filepath.Join(dir, set, file), content); err != nil {
			return set, err
		}
	}
	for parent := range dirs {
		if err := w.fs().SyncDir(filepath.Join(dir, set, parent)); err != nil {
			return set, err
		}
	}
	return set, nil
}

// makeSet creates the directory of a new set, named after the current time. If the name
// exists already, because the clock was set back or has a low resolution, it tries the
// next nanosecond.
func (w Writer) makeSet(dir string) (string, error) {
	for now := w.now(); ; now = now.Add(time.Nanosecond) {
		set := now.UTC().Format(setTime)
		err := w.fs().Mkdir(filepath.Join(dir, set), dirMode)
		if !errors.Is(err, fs.ErrExist) {
			return set, err
		}
	}
}

// swap makes a set the current one, with one rename.
func (w Writer) swap(dir, set string) error {
	next := filepath.Join(dir, nextLink)
	if err := w.fs().Symlink(set, next); err != nil {
		return err
	}
	return w.fs().Rename(next, filepath.Join(dir, dataLink))
}

// abandon removes a set that did not become the current one, and the links that were
// created for it.
func (w Writer) abandon(dir, set string) error {
	if set == "" {
		return nil
	}
	if err := w.Repair(dir); err != nil {
		return fmt.Errorf("abandon %s: %w", set, err)
	}
	return nil
}

// makeDir creates a directory and its missing parents. Each one is synced to disk before
// the next is created in it.
func (w Writer) makeDir(dir string) error {
	_, err := w.fs().Lstat(dir)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(dir)
	if err := w.makeDir(parent); err != nil {
		return err
	}
	if err := w.fs().Mkdir(dir, dirMode); err != nil {
		return err
	}
	return w.fs().SyncDir(parent)
}

// parents returns the directories of a path, the outermost first.
func parents(file string) []string {
	var dirs []string
	for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
		dirs = append(dirs, dir)
	}
	slices.Reverse(dirs)
	return dirs
}

func (w Writer) fs() FS {
	if w.FS == nil {
		return OS{}
	}
	return w.FS
}

func (w Writer) now() time.Time {
	if w.Now == nil {
		return time.Now()
	}
	return w.Now()
}
