package backup

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
)

// maxEntry is the largest size of an entry. It bounds the memory for a damaged archive.
const maxEntry = 64 << 20

// part is the name of a part of a stream.
var part = regexp.MustCompile(`^(.+)/(\d{6})$`)

// errIncomplete is the error of a backup that ends too early.
var errIncomplete = errors.New("the backup is incomplete: its end is missing")

// Check reads a backup to its end and returns an error if it is not complete and undamaged.
func Check(r io.Reader) (Info, error) {
	return read(r, func(string, []byte) error { return nil })
}

// Extract writes the files of a backup to a directory, and joins the parts of streams. If it returns an
// error, the directory may have some of the files. Only the owner can read the files.
func Extract(r io.Reader, dir string) (Info, error) {
	return read(r, func(name string, content []byte) error {
		if parts := part.FindStringSubmatch(name); parts != nil {
			name = parts[1]
		}
		return appendTo(filepath.Join(dir, filepath.FromSlash(name)), content)
	})
}

func appendTo(name string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Close())
}

// read passes each entry but the last one to write, and compares the entries with the last one. It returns
// an error unless every byte is what a Writer writes for these entries; zeros may follow.
func read(r io.Reader, write func(name string, content []byte) error) (Info, error) {
	compared := newComparison(r)
	archive := tar.NewReader(compared.input)
	var files []File
	for {
		header, err := archive.Next()
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return Info{}, errIncomplete
		case err != nil:
			return Info{}, fmt.Errorf("not a backup, or damaged: %w", err)
		case header.Size > maxEntry || !filepath.IsLocal(header.Name) || path.Clean(header.Name) != header.Name:
			return Info{}, fmt.Errorf("not a backup, or damaged: entry %q with %d bytes", header.Name, header.Size)
		}
		content, err := io.ReadAll(archive)
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF):
			return Info{}, errIncomplete
		case err != nil:
			return Info{}, fmt.Errorf("read the backup: %w", err)
		}
		if err := compared.entry(header, content); err != nil {
			return Info{}, err
		}
		if header.Name == indexName {
			info, err := compare(content, files)
			if err != nil {
				return Info{}, err
			}
			return info, compared.end(info.Created)
		}
		files = append(files, describe(header.Name, content))
		if err := write(header.Name, content); err != nil {
			return Info{}, err
		}
	}
}

// compare returns the Info in the last entry if it agrees with the entries before it.
func compare(index []byte, files []File) (Info, error) {
	var info Info
	if err := json.Unmarshal(index, &info); err != nil {
		return Info{}, fmt.Errorf("the backup is damaged: %s: %w", indexName, err)
	}
	if info.Format != format {
		return Info{}, fmt.Errorf("the backup has format %d, which version %q of holdfast wrote; this program reads format %d",
			info.Format, info.Version, format)
	}
	if err := info.checkText(index); err != nil {
		return Info{}, err
	}
	for i, file := range files {
		if i >= len(info.Files) || info.Files[i] != file {
			return Info{}, fmt.Errorf("the backup is damaged: %s does not have the content that was written", file.Name)
		}
	}
	if !slices.Equal(files, info.Files) {
		return Info{}, fmt.Errorf("the backup is damaged: %s is missing", info.Files[len(files)].Name)
	}
	return info, checkNames(files)
}

// checkNames returns an error unless each file is there once, and a stream has its parts in their order.
func checkNames(files []File) error {
	seen := map[string]int{}
	for _, file := range files {
		name, number := file.Name, 0
		if parts := part.FindStringSubmatch(file.Name); parts != nil {
			name = parts[1]
			number, _ = strconv.Atoi(parts[2])
		}
		if seen[name] != number {
			return fmt.Errorf("the backup is damaged: %s is at the wrong place", file.Name)
		}
		seen[name]++
	}
	return nil
}
