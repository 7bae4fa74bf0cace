package projection

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
)

// Read returns the current content of a volume. One without is an error that
// is fs.ErrNotExist.
func (w Writer) Read(dir string) (Payload, error) {
	now, err := w.look(dir)
	if err != nil {
		return nil, err
	}
	if now.set == "" {
		return nil, fmt.Errorf("%s: no content: %w", dir, fs.ErrNotExist)
	}
	return w.readSet(filepath.Join(dir, now.set))
}

// readSet reads all files of a set. What is no file is none that was written.
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
				payload[file] = File{Data: data, Mode: info.Mode().Perm()}
			}
		}
		return nil
	}
	return payload, read(".")
}
