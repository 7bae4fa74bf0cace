package projection

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"syscall"
)

// Read returns the current files of a volume. The error is fs.ErrNotExist if the volume
// has none.
func (w Writer) Read(dir string) (Payload, error) {
	current, err := w.readLayout(dir)
	if err != nil {
		return nil, err
	}
	if current.set == "" {
		return nil, fmt.Errorf("%s: no content: %w", dir, fs.ErrNotExist)
	}
	return w.readSet(filepath.Join(dir, current.set))
}

// readSet reads all files of a set. It returns an error for links and special files,
// which the writer never creates in a set.
func (w Writer) readSet(set string) (Payload, error) {
	payload := Payload{}
	var read func(dir string) error
	read = func(dir string) error {
		entries, err := w.fs().ReadDir(filepath.Join(set, dir))
		if err != nil {
			return err
		}
		for _, entry := range entries {
			file := path.Join(dir, entry.Name())
			full := filepath.Join(set, file)
			switch {
			case entry.IsDir():
				if err := read(file); err != nil {
					return err
				}
			case !entry.Type().IsRegular():
				return fmt.Errorf("%s: not a regular file", full)
			default:
				info, err := w.fs().Lstat(full)
				if err != nil {
					return err
				}
				data, err := w.fs().ReadFile(full)
				if err != nil {
					return err
				}
				payload[file] = File{Data: data, Mode: info.Mode().Perm(), Group: groupOf(info)}
			}
		}
		return nil
	}
	return payload, read(".")
}

// groupOf returns the group of a file, or nil if the file system has no groups.
func groupOf(info fs.FileInfo) *int {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	group := int(stat.Gid)
	return &group
}
