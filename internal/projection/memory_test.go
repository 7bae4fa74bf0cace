package projection_test

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"time"

	"holdfast.dev/holdfast/internal/projection"
)

var errKilled = errors.New("killed")

// inode is a file, link or directory of the file system in memory.
type inode struct {
	mode   fs.FileMode
	data   []byte
	target string

	// entries are the entries of a directory as processes see them; durable are those
	// that were synced to disk.
	entries, durable map[string]*inode
	// durableData is the content that was synced to disk, or nil.
	durableData []byte
}

func newDir(mode fs.FileMode) *inode {
	return &inode{mode: fs.ModeDir | mode, entries: map[string]*inode{}, durable: map[string]*inode{}}
}

// memory is a file system in memory for tests of crashes. After a given number of
// changes, every call returns errKilled. In a simulated power failure, each change that
// was not synced is lost or kept at random, independently of the others.
type memory struct {
	root *inode
	// left is the number of changes until errKilled; negative means never.
	left   int
	random *rand.Rand
	// before is called before each change.
	before func()
}

var _ projection.FS = &memory{}

func newMemory(random *rand.Rand) *memory {
	return &memory{root: newDir(0o755), left: -1, random: random}
}

// step is called before each change. It returns errKilled when no change is left.
func (m *memory) step() error {
	if m.before != nil {
		m.before()
	}
	if m.left == 0 {
		return errKilled
	}
	if m.left > 0 {
		m.left--
	}
	return nil
}

// powerFailure loses a random part of the changes that were not synced.
func (m *memory) powerFailure() {
	var lose func(n *inode)
	lose = func(n *inode) {
		if n.entries == nil {
			if n.mode.IsRegular() && (n.durableData == nil || !bytes.Equal(n.data, n.durableData)) {
				n.data = n.data[:m.random.IntN(len(n.data)+1)]
				n.mode = 0o600
			}
			return
		}
		names := map[string]bool{}
		for name := range n.entries {
			names[name] = true
		}
		for name := range n.durable {
			names[name] = true
		}
		for name := range names {
			if n.entries[name] == n.durable[name] || m.random.IntN(2) == 0 {
				continue
			}
			if before, ok := n.durable[name]; ok {
				n.entries[name] = before
			} else {
				delete(n.entries, name)
			}
		}
		n.durable = map[string]*inode{}
		for name, entry := range n.entries {
			n.durable[name] = entry
			lose(entry)
		}
	}
	lose(m.root)
}

// find returns the inode at a path. It does not follow links.
func (m *memory) find(file string) (*inode, error) {
	n := m.root
	for element := range strings.SplitSeq(strings.Trim(file, "/"), "/") {
		if element == "" {
			continue
		}
		if n.entries == nil {
			return nil, &fs.PathError{Op: "find", Path: file, Err: fs.ErrNotExist}
		}
		next, ok := n.entries[element]
		if !ok {
			return nil, &fs.PathError{Op: "find", Path: file, Err: fs.ErrNotExist}
		}
		n = next
	}
	return n, nil
}

func (m *memory) add(file string, n *inode) error {
	parent, err := m.find(path.Dir(file))
	if err != nil {
		return err
	}
	if _, taken := parent.entries[path.Base(file)]; taken {
		return &fs.PathError{Op: "add", Path: file, Err: fs.ErrExist}
	}
	parent.entries[path.Base(file)] = n
	return nil
}

func (m *memory) Mkdir(file string, mode fs.FileMode) error {
	if err := m.step(); err != nil {
		return err
	}
	return m.add(file, newDir(mode))
}

func (m *memory) WriteFile(file string, content projection.File) error {
	if err := m.step(); err != nil {
		// The process may have been killed in the middle of the write.
		if m.random.IntN(2) == 0 {
			_ = m.add(file, &inode{mode: 0o600, data: content.Data[:m.random.IntN(len(content.Data)+1)]})
		}
		return err
	}
	data := append([]byte{}, content.Data...)
	return m.add(file, &inode{mode: content.Mode, data: data, durableData: data})
}

func (m *memory) SyncDir(file string) error {
	if err := m.step(); err != nil {
		return err
	}
	n, err := m.find(file)
	if err != nil {
		return err
	}
	n.durable = map[string]*inode{}
	for name, entry := range n.entries {
		n.durable[name] = entry
	}
	return nil
}

func (m *memory) Symlink(target, file string) error {
	if err := m.step(); err != nil {
		return err
	}
	return m.add(file, &inode{mode: fs.ModeSymlink | 0o777, target: target})
}

func (m *memory) Rename(from, to string) error {
	if err := m.step(); err != nil {
		return err
	}
	n, err := m.find(from)
	if err != nil {
		return err
	}
	source, err := m.find(path.Dir(from))
	if err != nil {
		return err
	}
	target, err := m.find(path.Dir(to))
	if err != nil {
		return err
	}
	delete(source.entries, path.Base(from))
	target.entries[path.Base(to)] = n
	return nil
}

func (m *memory) Remove(file string) error {
	if err := m.step(); err != nil {
		return err
	}
	n, err := m.find(file)
	if err != nil {
		return err
	}
	if len(n.entries) > 0 {
		return &fs.PathError{Op: "remove", Path: file, Err: errors.New("directory not empty")}
	}
	parent, err := m.find(path.Dir(file))
	if err != nil {
		return err
	}
	delete(parent.entries, path.Base(file))
	return nil
}

func (m *memory) ReadFile(file string) ([]byte, error) {
	n, err := m.find(file)
	if err != nil {
		return nil, err
	}
	return n.data, nil
}

func (m *memory) Readlink(file string) (string, error) {
	n, err := m.find(file)
	if err != nil {
		return "", err
	}
	return n.target, nil
}

func (m *memory) ReadDir(file string) ([]fs.DirEntry, error) {
	n, err := m.find(file)
	if err != nil {
		return nil, err
	}
	var entries []fs.DirEntry
	for name, entry := range n.entries {
		entries = append(entries, fs.FileInfoToDirEntry(info{name, entry}))
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

func (m *memory) Lstat(file string) (fs.FileInfo, error) {
	n, err := m.find(file)
	if err != nil {
		return nil, err
	}
	return info{path.Base(file), n}, nil
}

// info is an inode as fs.FileInfo.
type info struct {
	name string
	node *inode
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return int64(len(i.node.data)) }
func (i info) Mode() fs.FileMode  { return i.node.mode }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return i.node.mode.IsDir() }
func (i info) Sys() any           { return nil }
