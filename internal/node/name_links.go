package node

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// nameLinks holds a link <dir>/<namespace>/<pod>/<volume> for each volume, which leads to the
// directory of the volume. The link stays when another pod of the same name replaces the
// pod: it is then switched to the new pod with one rename.
type nameLinks struct {
	// dir is the directory "by-name" below the root of the agent. Its neighbour "pods" has
	// the volumes.
	dir string
	mu  sync.Mutex
}

// nextNameLink is the name of a link before it is renamed. No volume can have this name.
const nextNameLink = "..next"

// open creates the directory and removes the links that lead nowhere.
func (l *nameLinks) open() error {
	return errors.Join(makeOpenDir(l.dir), l.prune())
}

// set makes the link of a volume lead to the volume of this pod.
func (l *nameLinks) set(owner VolumeOwner, volume string) error {
	for _, name := range []string{owner.Name.Namespace, owner.Name.Name, volume} {
		if err := checkName(name); err != nil {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	target := filepath.Join("..", "..", "..", "pods", string(owner.UID), "volumes", volume)
	dir := filepath.Join(l.dir, owner.Name.Namespace, owner.Name.Name)
	link := filepath.Join(dir, volume)
	if current, err := os.Readlink(link); err == nil && current == target {
		return nil
	}
	for _, dir := range []string{filepath.Dir(dir), dir} {
		if err := makeOpenDir(dir); err != nil {
			return err
		}
	}
	next := filepath.Join(dir, nextNameLink)
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Symlink(target, next); err != nil {
		return err
	}
	return os.Rename(next, link)
}

// prune removes the links that lead nowhere, and the directories without links.
func (l *nameLinks) prune() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	links, err := filepath.Glob(filepath.Join(l.dir, "*", "*", "*"))
	if err != nil {
		return err
	}
	for _, link := range links {
		info, err := os.Lstat(link)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			continue // not a link of the agent
		}
		if _, err := os.Stat(link); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := os.Remove(link); err != nil {
			return err
		}
		for _, dir := range []string{filepath.Dir(link), filepath.Dir(filepath.Dir(link))} {
			if err := os.Remove(dir); err != nil && !errors.Is(err, syscall.ENOTEMPTY) {
				return err
			}
		}
	}
	return nil
}
