package projection

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// The limits of Linux file systems in bytes, which Kubernetes checks for volumes.
const (
	longestPath = 4096
	longestName = 255
)

// CheckPath returns an error if a file of a volume cannot have this path. A path is
// relative to the volume, must not leave it, and must not begin with "..", because such
// names belong to the layout.
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

// CleanPath returns the shortest form of a path in a volume: "./a//b/" is "a/b". Like the
// kubelet, it returns an error for a path that is absolute or contains "..". The result may
// still be one that CheckPath rejects.
func CleanPath(file string) (string, error) {
	switch {
	case file == "":
		return "", fmt.Errorf("path %q: must not be empty", file)
	case path.IsAbs(file):
		return "", fmt.Errorf("path %q: must be relative", file)
	case slices.Contains(strings.Split(file, "/"), ".."):
		return "", fmt.Errorf("path %q: must not contain %q", file, "..")
	}
	return path.Clean(file), nil
}

// topName returns the first element of a path. The volume has a link of this name.
func topName(file string) string {
	name, _, _ := strings.Cut(file, "/")
	return name
}
