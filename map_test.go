package holdfast_test

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestRootDoc checks that the page of the root package names every package of
// the order.
func TestRootDoc(t *testing.T) {
	page, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range order {
		if _, err := os.Stat(part); err != nil || part == "cmd" {
			continue
		}
		if !regexp.MustCompile(regexp.QuoteMeta(module+"/"+part) + `\b`).Match(page) {
			t.Errorf("doc.go does not name package %s/%s", module, part)
		}
	}
}

// TestMap checks that the map in ARCHITECTURE.md has a line for every package.
func TestMap(t *testing.T) {
	page, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := goFiles(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	checked := map[string]bool{".": true}
	for _, file := range files {
		folder := path.Dir(file)
		part, _, _ := strings.Cut(folder, "/")
		if checked[folder] || !slices.Contains(order, part) {
			continue
		}
		checked[folder] = true
		if !regexp.MustCompile(`(?m)^ *` + regexp.QuoteMeta(folder) + `/? `).Match(page) {
			t.Errorf("the map in ARCHITECTURE.md has no line for package %s", folder)
		}
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
