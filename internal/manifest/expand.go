package manifest

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Stdin is the argument for the standard input.
const Stdin = "-"

// Input is an input file that an argument names.
type Input struct {
	// Name is the name of the file, or Stdin.
	Name string
	// Explicit is true if an argument is the name itself, and false if the file was
	// found in a directory or by a pattern.
	Explicit bool
}

// Expand returns the files that arguments name, in the order of the arguments and
// without duplicates. An argument is a file, a directory (all .yaml, .yml and .json
// files below it), a pattern such as config/*.yaml or config/**/crd.yaml, or Stdin. It
// is an error if an argument names no file.
func Expand(args []string) ([]Input, error) {
	var found []Input
	seen := map[string]bool{}
	for _, arg := range args {
		names, explicit, err := expand(arg)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if !seen[name] {
				seen[name] = true
				found = append(found, Input{name, explicit})
			}
		}
	}
	return found, nil
}

func expand(arg string) (names []string, explicit bool, err error) {
	if arg == Stdin {
		return []string{Stdin}, true, nil
	}
	info, err := os.Stat(arg)
	switch {
	case err == nil && info.IsDir():
		names, err = walk(arg, func(string) bool { return true })
		if err == nil && len(names) == 0 {
			err = fmt.Errorf("%s: no .yaml, .yml or .json file in this directory", arg)
		}
		return names, false, err
	case err == nil:
		return []string{filepath.Clean(arg)}, true, nil
	case !strings.ContainsAny(arg, "*?["):
		return nil, false, err
	}
	names, err = glob(filepath.ToSlash(arg))
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("%s: no .yaml, .yml or .json file matches this pattern", arg)
	}
	return names, false, err
}

// glob returns the files that match a pattern. ** matches any number of directories.
func glob(pattern string) ([]string, error) {
	if _, err := path.Match(pattern, ""); err != nil {
		return nil, fmt.Errorf("%s: %w", pattern, err)
	}
	segments := strings.Split(path.Clean(pattern), "/")
	fixed := slices.IndexFunc(segments, func(s string) bool { return strings.ContainsAny(s, "*?[") })
	root := strings.Join(segments[:fixed], "/")
	switch {
	case fixed == 0:
		root = "."
	case root == "":
		root = "/"
	}
	return walk(root, func(name string) bool {
		return matches(segments, strings.Split(filepath.ToSlash(name), "/"))
	})
}

// matches reports whether the segments of a name match those of a pattern.
func matches(pattern, name []string) bool {
	if len(pattern) == 0 {
		return len(name) == 0
	}
	if pattern[0] == "**" {
		return matches(pattern[1:], name) || len(name) > 0 && matches(pattern, name[1:])
	}
	if len(name) == 0 {
		return false
	}
	ok, err := path.Match(pattern[0], name[0])
	return err == nil && ok && matches(pattern[1:], name[1:])
}

// walk returns the YAML and JSON files below a directory for which accept returns true,
// in lexical order. It skips directories that begin with a dot, such as .git.
func walk(root string, accept func(name string) bool) ([]string, error) {
	var names []string
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			if name == root && os.IsNotExist(err) {
				return nil
			}
			return err
		case entry.IsDir():
			if name != root && strings.HasPrefix(entry.Name(), ".") {
				return fs.SkipDir
			}
		case slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name)) && accept(name):
			names = append(names, name)
		}
		return nil
	})
	return names, err
}
