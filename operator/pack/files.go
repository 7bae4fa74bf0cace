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

const (
	// OperatorFileName is the name of the file that every package has.
	OperatorFileName = "operator.yaml"
	// ParamsFileName is the name of the file with the parameters.
	ParamsFileName  = "params.yaml"
	templatesFolder = "templates"
)

// The limits of a package: the bytes of one file, the number of files and the bytes of
// all files. An API server accepts about 1.5 MiB in one object.
const (
	maxFile  = 1 << 20
	maxFiles = 1000
	maxTotal = 3 << 20
)

// Files holds the files of a package and of the packages bundled with it, by their path
// in the package.
type Files map[string][]byte

// Load reads a package from a folder or a .tgz file.
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

// LoadFiles reads the files of a package from a folder or a .tgz file. It does not decode
// them, except to find the bundled packages.
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

// readFolder reads the files of a package from a folder. It does not follow symbolic
// links, because a link can point anywhere.
func readFolder(location string) (Files, error) {
	root, err := os.OpenRoot(location)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	files := Files{}
	err = files.visitPackages(func(folder string) error { return files.readPackage(root, folder) })
	if err != nil {
		return nil, err
	}
	return files, nil
}

// readPackage reads the files of the package in a folder, without those of the packages
// bundled with it.
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

// readFrom reads one regular file.
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

// isPackageFile reports whether the file with this path in a package belongs to it. Files
// of bundled packages do not.
func isPackageFile(name string) bool {
	return name == OperatorFileName || name == ParamsFileName || strings.HasPrefix(name, templatesFolder+"/") && isTemplate(name)
}

// isTemplate reports whether a file below templates/ is a template. As in KUDO, that is
// every file with .yaml in its name.
func isTemplate(name string) bool { return strings.Contains(path.Base(name), ".yaml") }

// mayBePackageFile reports whether a file belongs to the package, or would belong to one
// that is bundled in any of the folders of its path.
func mayBePackageFile(name string) bool {
	for {
		if isPackageFile(name) {
			return true
		}
		var deeper bool
		if _, name, deeper = strings.Cut(name, "/"); !deeper {
			return false
		}
	}
}

// add reads one file and checks the limits.
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

// names returns the paths in sorted order.
func (f Files) names() []string { return slices.Sorted(maps.Keys(f)) }
