package projection

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"maps"
	"path"
	"slices"
)

// File is one file of a volume.
type File struct {
	Data []byte
	// Mode holds the permission bits; all others are ignored.
	Mode fs.FileMode
	// Group, unless it is nil, is the number of the group of the file. Otherwise the file
	// gets the group of the process.
	Group *int
}

// Payload holds the files of one volume by their path.
type Payload map[string]File

// Check validates all paths and returns all errors: those of CheckPath, and one for each
// path that is both a file and a directory of another file.
func (p Payload) Check() error {
	var wrong []error
	for _, file := range slices.Sorted(maps.Keys(p)) {
		if err := CheckPath(file); err != nil {
			wrong = append(wrong, err)
			continue
		}
		for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
			if _, taken := p[dir]; taken {
				wrong = append(wrong, fmt.Errorf("path %q: %q is a file", file, dir))
			}
		}
	}
	return errors.Join(wrong...)
}

// Equal reports whether two payloads have the same files, content, modes and groups. A
// group that is nil equals any group.
func (p Payload) Equal(other Payload) bool {
	return maps.EqualFunc(p, other, func(a, b File) bool {
		sameGroup := a.Group == nil || b.Group == nil || *a.Group == *b.Group
		return a.Mode.Perm() == b.Mode.Perm() && sameGroup && bytes.Equal(a.Data, b.Data)
	})
}

// Hash writes the paths, contents and modes of all files to h. Two payloads write the same
// bytes if, and only if, these are the same.
func (p Payload) Hash(h hash.Hash) {
	for _, file := range slices.Sorted(maps.Keys(p)) {
		for _, part := range [][]byte{[]byte(file), p[file].Data} {
			// Write of a hash.Hash never returns an error.
			_, _ = h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
			_, _ = h.Write(part)
		}
		_, _ = h.Write(binary.BigEndian.AppendUint32(nil, uint32(p[file].Mode.Perm())))
	}
}

// topNames returns the first elements of all paths. The volume has a link for each.
func (p Payload) topNames() map[string]bool {
	names := map[string]bool{}
	for file := range p {
		names[topName(file)] = true
	}
	return names
}
