package pack

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// The files of a package.
const (
	OperatorFileName = "operator.yaml"
	ParamsFileName   = "params.yaml"
	templatesFolder  = "templates"
)

// What a package may hold. A server takes some 1.5 MiB in one object.
const (
	maxFile  = 1 << 20
	maxFiles = 1000
	maxTotal = 3 << 20
)

// Files are the files of a package, by their path in it.
type Files map[string][]byte

// Load reads a package from a folder or a .tgz.
func Load(location string) (*Package, error) {
	files, err := LoadFiles(location)
	if err != nil {
		return nil, err
	}
	p, err := files.Parse()
	if err != nil {
		return nil, fmt.Errorf("read package %s: %w", location, err)
	}
	return p, nil
}

// LoadFiles reads the files of a package from a folder or a .tgz.
func LoadFiles(location string) (Files, error) {
	info, err := os.Stat(location)
	if err != nil {
		return nil, fmt.Errorf("read package %s: %w", location, errors.Unwrap(err))
	}
	read := readArchiveFile
	if info.IsDir() {
		read = readFolder
	}
	files, err := read(location)
	if err != nil {
		return nil, fmt.Errorf("read package %s: %w", location, err)
	}
	return files, nil
}

func readArchiveFile(location string) (Files, error) {
	file, err := os.Open(location)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return ReadArchive(file)
}

// readFolder reads what belongs to a package and nothing else: a link could
// lead anywhere.
func readFolder(location string) (Files, error) {
	root, err := os.OpenRoot(location)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	files := Files{}
	err = files.packages(func(folder string) error { return files.readPackage(root, folder) })
	if err != nil {
		return nil, err
	}
	return files, nil
}

// readPackage reads the files of the package in a folder, without those that it
// brings along.
func (f Files) readPackage(root *os.Root, folder string) error {
	for _, name := range []string{path.Join(folder, OperatorFileName), path.Join(folder, ParamsFileName)} {
		if _, err := root.Lstat(filepath.FromSlash(name)); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := f.readFrom(root, name); err != nil {
			return err
		}
	}
	templates := path.Join(folder, templatesFolder)
	return fs.WalkDir(root.FS(), templates, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil && name == templates && errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case entry.IsDir():
			return nil
		case name == templates:
			return fmt.Errorf("%s: not a folder", name)
		case !isTemplate(name):
			return nil
		}
		return f.readFrom(root, name)
	})
}

func (f Files) readFrom(root *os.Root, name string) error {
	info, err := root.Lstat(filepath.FromSlash(name))
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s: not a regular file", name)
	}
	file, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return err
	}
	defer file.Close()
	return f.add(name, file)
}

// belongs says whether a file is part of a package, of those that it brings along
// not.
func belongs(name string) bool {
	return name == OperatorFileName || name == ParamsFileName || strings.HasPrefix(name, templatesFolder+"/") && isTemplate(name)
}

// isTemplate says whether a file among the templates is one. KUDO takes every
// file with .yaml in its name.
func isTemplate(name string) bool { return strings.Contains(path.Base(name), ".yaml") }

// mayBelong says whether a file is part of a package in whatever folder.
func mayBelong(name string) bool {
	for {
		if belongs(name) {
			return true
		}
		var deeper bool
		if _, name, deeper = strings.Cut(name, "/"); !deeper {
			return false
		}
	}
}

// add takes one file, if it is one that a package may hold.
func (f Files) add(name string, content io.Reader) error {
	if _, twice := f[name]; twice {
		return fmt.Errorf("%s: more than once in the package", name)
	}
	text, err := io.ReadAll(io.LimitReader(content, maxFile+1))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	switch {
	case len(text) > maxFile:
		return fmt.Errorf("%s: larger than 1 MiB", name)
	case !utf8.Valid(text):
		return fmt.Errorf("%s: not UTF-8 text", name)
	}
	f[name] = text
	total := 0
	for _, file := range f {
		total += len(file)
	}
	switch {
	case len(f) > maxFiles:
		return fmt.Errorf("more than %d files", maxFiles)
	case total > maxTotal:
		return errors.New("more than 3 MiB in all")
	}
	return nil
}

// names are the paths in order.
func (f Files) names() []string { return slices.Sorted(maps.Keys(f)) }
