package tree_test

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// root is the root of the tree, seen from this package.
const root = "../.."

// packageMap are the packages of the root module, as ARCHITECTURE.md lists them.
type packageMap struct {
	// all are the paths of the packages and of the folders around them. A package imports only packages before it.
	all []string
	// engines are the packages that compute their results from their arguments.
	engines []string
}

// mapLine is a line of the map: two spaces for each folder around it, a name, and a text.
var mapLine = regexp.MustCompile(`^( *)(\S+?)/?(?:\s+\S.*)?$`)

// readMap reads the map of the packages from ARCHITECTURE.md: the first block of text. A line "." is the package of the folder
// around it. The lines below a heading that begins with "Modules" are modules of their own.
func readMap(t *testing.T, tree fs.FS) packageMap {
	t.Helper()
	page, err := fs.ReadFile(tree, "ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "```text\n")
	text, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatal("ARCHITECTURE.md has no map of the packages")
	}
	var out packageMap
	var around []string
	heading := ""
	for line := range strings.Lines(text) {
		if after, isHeading := strings.CutPrefix(line, "# "); isHeading {
			heading = after
			continue
		}
		parts := mapLine.FindStringSubmatch(strings.TrimRight(line, "\n"))
		depth := len(parts[1]) / 2
		if depth > len(around) {
			t.Fatalf("the map in ARCHITECTURE.md: %q is too far to the right", line)
		}
		folder := path.Join(append(slices.Clone(around[:depth]), parts[2])...)
		around = append(around[:depth], parts[2])
		switch {
		case strings.HasPrefix(heading, "Modules"):
			continue
		case strings.HasPrefix(heading, "Engines"):
			out.engines = append(out.engines, folder)
		}
		// A folder with a line "." is the package at the place of that line.
		out.all = slices.DeleteFunc(out.all, func(listed string) bool { return listed == folder })
		out.all = append(out.all, folder)
	}
	return out
}

// forbids says why a package may not import another one, or "".
func (m packageMap) forbids(from, to string) string {
	target := slices.Index(m.all, to)
	switch {
	case target < 0:
		return "it has no place in the map of ARCHITECTURE.md"
	case slices.Index(m.all, from) < target:
		return fmt.Sprintf("%s comes before %s in the map of ARCHITECTURE.md, and a package imports only those before it", from, to)
	}
	return ""
}

// TestMap checks that the folders in the map exist, and that they have packages or are around packages.
func TestMap(t *testing.T) {
	tree := os.DirFS(root)
	packages := readMap(t, tree)
	files, err := goFiles(tree)
	if err != nil {
		t.Fatal(err)
	}
	for _, listed := range packages.all {
		if listed == "examples" || slices.ContainsFunc(files, func(file string) bool { return within(path.Dir(file), listed) }) {
			continue
		}
		t.Errorf("the map in ARCHITECTURE.md has a line for %s, which has no Go files", listed)
	}
}

// TestPublic checks that each package that other programs may import has an example and says what it promises.
func TestPublic(t *testing.T) {
	tree := os.DirFS(root)
	for _, folder := range readMap(t, tree).all {
		if top, _, _ := strings.Cut(folder, "/"); slices.Contains([]string{"internal", "cmd", "examples"}, top) {
			continue
		}
		if _, err := fs.Stat(tree, path.Join(folder, "example_test.go")); err != nil {
			t.Errorf("package %s has no example_test.go", folder)
		}
		page, err := fs.ReadFile(tree, path.Join(folder, "doc.go"))
		if err != nil || !strings.Contains(string(page), "semantic version") {
			t.Errorf("%s/doc.go does not say what the package promises to programs that import it", folder)
		}
	}
}

func TestReadMap(t *testing.T) {
	const page = "# Page\n```text\n# Engines. Pure.\nvalue   text\ninternal/nesting  text\n# The rest\ninternal/\n  server/\n    store  text\n" +
		"    .  text\n  cli  text\n# Modules of their own.\ntest/  text\n```\n"
	got := readMap(t, fstest.MapFS{"ARCHITECTURE.md": {Data: []byte(page)}})
	want := packageMap{
		all:     []string{"value", "internal/nesting", "internal", "internal/server/store", "internal/server", "internal/cli"},
		engines: []string{"value", "internal/nesting"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(packageMap{})); diff != "" {
		t.Errorf("the map (-want +got):\n%s", diff)
	}
}

// goFiles lists the Go files of a tree, except tests and test data.
func goFiles(tree fs.FS) ([]string, error) {
	var found []string
	err := fs.WalkDir(tree, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path.Base(file) == "testdata" {
			return fs.SkipDir
		}
		if path.Ext(file) == ".go" && !strings.HasSuffix(file, "_test.go") {
			found = append(found, file)
		}
		return nil
	})
	return found, err
}
