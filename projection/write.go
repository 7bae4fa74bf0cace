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
	// dataLink points at the current set; nextLink is renamed to it.
	dataLink = "..data"
	nextLink = "..data_tmp"
	// setTime is the name of a set: when it was made.
	setTime = "..2006_01_02_15_04_05.000000000"

	dirMode = 0o755
)

// Writer writes volumes. The zero value writes to the host's file system.
type Writer struct {
	FS  FS
	Now func() time.Time
}

// Write makes a payload the content of a volume, making its directory and the
// ones above where they are missing. It reports whether the content changed,
// which it may have even with an error: then only the tidying afterwards is
// incomplete, and the next Write or Repair does it. Without a change of content
// or mode nothing is written.
//
// check, if there is one, is called with the directory of the new set before it
// becomes the current one; its error is returned and leaves the old set.
func (w Writer) Write(dir string, payload Payload, check func(set string) error) (changed bool, err error) {
	if err := payload.Check(); err != nil {
		return false, err
	}
	if err := w.makeDir(dir); err != nil {
		return false, err
	}
	now, err := w.look(dir)
	if err != nil {
		return false, err
	}
	if current, err := w.readSet(filepath.Join(dir, now.set)); now.set != "" && err == nil && current.Equal(payload) {
		return false, w.settle(dir, payload.tops())
	}
	if err := w.Repair(dir); err != nil {
		return false, err
	}
	set, err := w.stage(dir, payload)
	if err == nil && check != nil {
		err = check(filepath.Join(dir, set))
	}
	if err == nil {
		// The names come before the content, so that they can be read from the
		// very moment that the content is there.
		err = w.link(dir, payload.tops())
	}
	if err == nil {
		// Nothing may point at what is not on disk.
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
	return true, w.settle(dir, payload.tops())
}

// stage writes a new set and returns its name in dir.
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

// makeSet makes the directory of a new set. A clock that stands still, or was
// set back, may give a name that is taken.
func (w Writer) makeSet(dir string) (string, error) {
	for now := w.now(); ; now = now.Add(time.Nanosecond) {
		set := now.UTC().Format(setTime)
		err := w.fs().Mkdir(filepath.Join(dir, set), dirMode)
		if !errors.Is(err, fs.ErrExist) {
			return set, err
		}
	}
}

// swap makes a set the current one.
func (w Writer) swap(dir, set string) error {
	next := filepath.Join(dir, nextLink)
	if err := w.fs().Symlink(set, next); err != nil {
		return err
	}
	return w.fs().Rename(next, filepath.Join(dir, dataLink))
}

// abandon removes a set that did not become the current one, and what was made
// for it.
func (w Writer) abandon(dir, set string) error {
	if set == "" {
		return nil
	}
	if err := w.Repair(dir); err != nil {
		return fmt.Errorf("abandon %s: %w", set, err)
	}
	return nil
}

// makeDir makes a directory and those above it, each on disk before the next.
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

// parents are the directories of a path, the outermost first.
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
