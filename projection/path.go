package projection

import (
	"fmt"
	"path"
	"strings"
)

// The limits of Linux file systems, which Kubernetes holds volumes to.
const (
	longestPath = 4096
	longestName = 255
)

// CheckPath says why a file cannot have a path in a volume, or nil. The path is
// relative to the volume; it stays within it and out of the names that the
// layout uses.
func CheckPath(file string) error {
	switch {
	case file == "":
		return fmt.Errorf("path %q: must not be empty", file)
	case strings.ContainsRune(file, 0):
		return fmt.Errorf("path %q: must not have a NUL byte", file)
	case path.IsAbs(file):
		return fmt.Errorf("path %q: must be relative", file)
	case len(file) > longestPath:
		return fmt.Errorf("path %.40q...: longer than %d bytes", file, longestPath)
	case strings.HasPrefix(file, ".."):
		return fmt.Errorf("path %q: must not start with %q", file, "..")
	case path.Clean(file) != file || file == ".":
		return fmt.Errorf("path %q: must be in its shortest form, without \".\", \"..\" and empty elements", file)
	}
	for element := range strings.SplitSeq(file, "/") {
		if len(element) > longestName {
			return fmt.Errorf("path %.40q...: an element is longer than %d bytes", file, longestName)
		}
	}
	return nil
}

// top is the first element of a path: the name that the volume shows.
func top(file string) string {
	name, _, _ := strings.Cut(file, "/")
	return name
}
