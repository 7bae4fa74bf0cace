package pack

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
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
