package upgrade_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// sizeRecord has the size of a file. etcd allocates its files before it writes them, so the archive leaves out the zeros at their end.
const sizeRecord = "HOLDFAST.size"

// pack writes the files of a directory to an archive.
func pack(t *testing.T, dir, archive string) {
	t.Helper()
	var out bytes.Buffer
	zip, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(zip)
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		// etcd makes its temporary files again.
		if err != nil || entry.IsDir() || strings.HasSuffix(path, ".tmp") {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		written := bytes.TrimRight(content, "\x00")
		header := &tar.Header{
			Name: filepath.ToSlash(name), Mode: 0o600, Size: int64(len(written)),
			PAXRecords: map[string]string{sizeRecord: strconv.Itoa(len(content))},
		}
		if err := w.WriteHeader(header); err != nil {
			return err
		}
		_, err = w.Write(written)
		return err
	})
	if err := errors.Join(err, w.Close(), zip.Close(), os.WriteFile(archive, out.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// unpack writes the files of an archive to a new directory, and returns it.
func unpack(t *testing.T, archive string) string {
	t.Helper()
	file, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	zip, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for r := tar.NewReader(zip); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := unpackFile(dir, header, r); err != nil {
			t.Fatal(err)
		}
	}
}

func unpackFile(dir string, header *tar.Header, content io.Reader) error {
	path := filepath.Join(dir, filepath.FromSlash(header.Name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	size, err := strconv.ParseInt(header.PAXRecords[sizeRecord], 10, 64)
	if err == nil {
		_, err = io.Copy(file, content)
	}
	return errors.Join(err, file.Truncate(size), file.Close())
}
