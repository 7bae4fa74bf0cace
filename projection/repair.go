package projection

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// layout is what a look into the directory of a volume found.
type layout struct {
	// set is the name of the current set, "" if there is none.
	set string
	// sets are the names of all that are sets or were to be one.
	sets []string
	// links are the visible names that are links into ..data, others the names
	// that are not the writer's.
	links, others map[string]bool
	// next says that there is a ..data_tmp.
	next bool
}

// Repair makes the directory of a volume what a complete Write would have left:
// names for the files of the current set and for nothing else, and no other
// set. A directory that is missing is none to repair.
func (w Writer) Repair(dir string) error {
	now, err := w.look(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	names := map[string]bool{}
	if now.set != "" {
		entries, err := w.fs().ReadDir(filepath.Join(dir, now.set))
		if err != nil {
			return err
		}
		for _, entry := range entries {
			names[entry.Name()] = true
		}
	}
	return w.settle(dir, names)
}

// Remove removes the directory of a volume, content and all.
func (w Writer) Remove(dir string) error {
	err := w.removeTree(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// settle leaves just these names, and no set but the current one. Where nothing
// is to be done nothing is written.
func (w Writer) settle(dir string, names map[string]bool) error {
	if err := w.link(dir, names); err != nil {
		return err
	}
	now, err := w.look(dir)
	if err != nil {
		return err
	}
	var stale []string
	for name := range now.links {
		if !names[name] {
			stale = append(stale, name)
		}
	}
	leftovers := slices.DeleteFunc(now.sets, func(set string) bool { return set == now.set })
	if len(stale) == 0 && len(leftovers) == 0 && !now.next {
		return nil
	}
	// The last swap is on disk before what it replaced goes, also if the process
	// that did it was killed right afterwards.
	if err := w.fs().SyncDir(dir); err != nil {
		return err
	}
	if now.next {
		stale = append(stale, nextLink)
	}
	for _, name := range stale {
		if err := w.fs().Remove(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	for _, set := range leftovers {
		if err := w.removeTree(filepath.Join(dir, set)); err != nil {
			return err
		}
	}
	return w.fs().SyncDir(dir)
}

// link makes the visible names that are missing.
func (w Writer) link(dir string, names map[string]bool) error {
	now, err := w.look(dir)
	if err != nil {
		return err
	}
	for name := range names {
		switch {
		case now.links[name]:
		case now.others[name]:
			return fmt.Errorf("%s is in the way: it is no link of this volume", filepath.Join(dir, name))
		default:
			if err := w.fs().Symlink(filepath.Join(dataLink, name), filepath.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// look reads the directory of a volume.
func (w Writer) look(dir string) (layout, error) {
	entries, err := w.fs().ReadDir(dir)
	if err != nil {
		return layout{}, err
	}
	now := layout{links: map[string]bool{}, others: map[string]bool{}}
	target := ""
	for _, entry := range entries {
		name := entry.Name()
		isLink := entry.Type()&fs.ModeSymlink != 0
		switch {
		case isLink && name == dataLink:
			if target, err = w.fs().Readlink(filepath.Join(dir, name)); err != nil {
				return layout{}, err
			}
		case isLink && name == nextLink:
			now.next = true
		case entry.IsDir() && strings.HasPrefix(name, "..") && len(name) == len(setTime):
			now.sets = append(now.sets, name)
		case isLink:
			to, err := w.fs().Readlink(filepath.Join(dir, name))
			if err != nil {
				return layout{}, err
			}
			if to == filepath.Join(dataLink, name) {
				now.links[name] = true
			} else {
				now.others[name] = true
			}
		default:
			now.others[name] = true
		}
	}
	for _, set := range now.sets {
		if set == target {
			now.set = target
		}
	}
	return now, nil
}

// removeTree removes a file or a directory with all in it. Links are removed,
// never followed.
func (w Writer) removeTree(path string) error {
	info, err := w.fs().Lstat(path)
	if err != nil {
		return err
	}
	if info.IsDir() {
		entries, err := w.fs().ReadDir(path)
		if err != nil {
			return err
		}
		for _, entry := range entries {
			if err := w.removeTree(filepath.Join(path, entry.Name())); err != nil {
				return err
			}
		}
	}
	return w.fs().Remove(path)
}
