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
	// Mode has the permission bits.
	Mode fs.FileMode
}

// Payload is the files of one volume by their path.
type Payload map[string]File

// Check says what is wrong with the paths, all of it: each by itself, and files
// that would have to be directories too.
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

// Equal reports whether two payloads have the same files, content and modes.
func (p Payload) Equal(other Payload) bool {
	return maps.EqualFunc(p, other, func(a, b File) bool {
		return a.Mode.Perm() == b.Mode.Perm() && bytes.Equal(a.Data, b.Data)
	})
}

// Hash feeds everything Equal compares to a hash, so that equal payloads have
// equal sums and others do not.
func (p Payload) Hash(h hash.Hash) {
	for _, file := range slices.Sorted(maps.Keys(p)) {
		for _, part := range [][]byte{[]byte(file), p[file].Data} {
			// A hash never returns an error.
			_, _ = h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
			_, _ = h.Write(part)
		}
		_, _ = h.Write(binary.BigEndian.AppendUint32(nil, uint32(p[file].Mode.Perm())))
	}
}

// tops are the names that the volume shows.
func (p Payload) tops() map[string]bool {
	names := map[string]bool{}
	for file := range p {
		names[top(file)] = true
	}
	return names
}
