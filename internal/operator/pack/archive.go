package pack

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

// The limits of an archive: the bytes that are unpacked, and the number of entries.
const (
	maxUnpacked = 32 << 20
	maxEntries  = 10_000
)

// ReadArchive reads the files of a package from a .tgz. It skips files that belong to no
// package. It refuses an archive with a path that leads out of the package or with an
// entry that is neither a file nor a folder, such as a link.
func ReadArchive(archive io.Reader) (Files, error) {
	unzipped, err := gzip.NewReader(archive)
	if err != nil {
		return nil, fmt.Errorf("not a .tgz: %w", err)
	}
	defer unzipped.Close()
	limited := &io.LimitedReader{R: unzipped, N: maxUnpacked}
	entries := tar.NewReader(limited)
	files := Files{}
	for number := 0; ; number++ {
		entry, err := entries.Next()
		switch {
		case limited.N <= 0:
			return nil, errors.New("unpacks to more than 32 MiB")
		case errors.Is(err, io.EOF):
			return files.withoutUnused()
		case err != nil:
			return nil, fmt.Errorf("not a .tgz: %w", err)
		case number >= maxEntries:
			return nil, fmt.Errorf("more than %d entries", maxEntries)
		}
		name, err := entryPath(entry)
		if err != nil {
			return nil, err
		}
		if entry.Typeflag == tar.TypeDir || !mayBePackageFile(name) {
			continue
		}
		err = files.add(name, entries)
		if limited.N <= 0 {
			return nil, errors.New("unpacks to more than 32 MiB")
		}
		if err != nil {
			return nil, err
		}
	}
}

// entryPath returns the path of an entry in the package.
func entryPath(entry *tar.Header) (string, error) {
	switch entry.Typeflag {
	case tar.TypeReg, tar.TypeDir:
	default:
		return "", fmt.Errorf("%q: neither a file nor a folder", entry.Name)
	}
	if path.IsAbs(entry.Name) || strings.Contains(entry.Name, `\`) {
		return "", fmt.Errorf("%q: not a path in the package", entry.Name)
	}
	for _, part := range strings.Split(entry.Name, "/") {
		if part == ".." {
			return "", fmt.Errorf("%q: leads out of the package", entry.Name)
		}
	}
	return path.Clean(entry.Name), nil
}

// Archive writes the files as a .tgz. The result is reproducible: the same files give the
// same bytes.
func (f Files) Archive(out io.Writer) error {
	zipped, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return err
	}
	entries := tar.NewWriter(zipped)
	for _, name := range f.names() {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(f[name])), Format: tar.FormatUSTAR}
		if len(name) > 100 {
			header.Format = tar.FormatPAX
		}
		if err := entries.WriteHeader(header); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if _, err := entries.Write(f[name]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := entries.Close(); err != nil {
		return err
	}
	return zipped.Close()
}
