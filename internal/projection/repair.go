package projection

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// layout describes the directory of a volume.
type layout struct {
	// set is the name of the current set, or "" if there is none.
	set string
	// sets are the names of all sets, incomplete ones too.
	sets []string
	// links are the names of links into ..data. others are the names of files that
	// the writer did not create.
	links, others map[string]bool
	// hasNextLink is true if ..data_tmp exists.
	hasNextLink bool
	// blocked are the names ..data and ..data_tmp, if a file or directory has them that the
	// writer did not create.
	blocked []string
}

// Repair removes what a crash left in the directory of a volume. Afterwards there is at most
// one set, with a link for each file and directory at its top, as after a complete Write.
// Repair does nothing if the directory does not exist.
func (w Writer) Repair(dir string) error {
	current, err := w.readLayout(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := w.setAside(dir, current.blocked); err != nil {
		return err
	}
	names := map[string]bool{}
	if current.set != "" {
		entries, err := w.fs().ReadDir(filepath.Join(dir, current.set))
		if err != nil {
			return err
		}
		for _, entry := range entries {
			names[entry.Name()] = true
		}
	}
	return w.cleanUp(dir, names)
}

// setAside renames files and directories that have the names of the writer's links. Their
// content may be of use to the user that created them, so it stays.
func (w Writer) setAside(dir string, names []string) error {
	for _, name := range names {
		for n := 1; ; n++ {
			aside := filepath.Join(dir, fmt.Sprintf("%s.set-aside-%d", strings.TrimPrefix(name, ".."), n))
			if _, err := w.fs().Lstat(aside); err == nil {
				continue
			} else if !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			if err := w.fs().Rename(filepath.Join(dir, name), aside); err != nil {
				return err
			}
			break
		}
	}
	return nil
}

// Remove removes a directory and everything in it, if it exists.
func (w Writer) Remove(dir string) error {
	err := w.removeTree(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// cleanUp creates the missing links for names, and removes all other links and all sets
// but the current one. It writes nothing if nothing has to change.
func (w Writer) cleanUp(dir string, names map[string]bool) error {
	if err := w.link(dir, names); err != nil {
		return err
	}
	current, err := w.readLayout(dir)
	if err != nil {
		return err
	}
	var stale []string
	for name := range current.links {
		if !names[name] {
			stale = append(stale, name)
		}
	}
	leftovers := slices.DeleteFunc(current.sets, func(set string) bool { return set == current.set })
	if len(stale) == 0 && len(leftovers) == 0 && !current.hasNextLink {
		return nil
	}
	// Sync the last rename of ..data before the old set is removed. The process that
	// renamed it may have been killed before it synced the directory. Without the sync,
	// ..data could point to a removed set after a power failure.
	if err := w.fs().SyncDir(dir); err != nil {
		return err
	}
	if current.hasNextLink {
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

// link creates the missing links for names.
func (w Writer) link(dir string, names map[string]bool) error {
	current, err := w.readLayout(dir)
	if err != nil {
		return err
	}
	for name := range names {
		switch {
		case current.links[name]:
		case current.others[name]:
			return fmt.Errorf("%s is in the way: it is not a link of this volume", filepath.Join(dir, name))
		default:
			if err := w.fs().Symlink(filepath.Join(dataLink, name), filepath.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// readLayout reads the directory of a volume.
func (w Writer) readLayout(dir string) (layout, error) {
	entries, err := w.fs().ReadDir(dir)
	if err != nil {
		return layout{}, err
	}
	current := layout{links: map[string]bool{}, others: map[string]bool{}}
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
			current.hasNextLink = true
		case name == dataLink || name == nextLink:
			current.blocked = append(current.blocked, name)
		case entry.IsDir() && strings.HasPrefix(name, "..") && len(name) == len(setTime):
			current.sets = append(current.sets, name)
		case isLink:
			to, err := w.fs().Readlink(filepath.Join(dir, name))
			if err != nil {
				return layout{}, err
			}
			if to == filepath.Join(dataLink, name) {
				current.links[name] = true
			} else {
				current.others[name] = true
			}
		default:
			current.others[name] = true
		}
	}
	for _, set := range current.sets {
		if set == target {
			current.set = target
		}
	}
	return current, nil
}

// removeTree removes a file, or a directory with everything in it. It removes links and
// does not follow them.
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
			// Another goroutine may remove the same tree.
			if err := w.removeTree(filepath.Join(path, entry.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return w.fs().Remove(path)
}
