package faults_test

import (
	"bytes"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"go.etcd.io/gofail/code"
)

// gofailModules are the modules whose sources have failpoints of gofail: comments, from which gofail makes code.
var gofailModules = []string{"go.etcd.io/etcd/server/v3", "go.etcd.io/bbolt"}

// copies are copies of modules, with code at their failpoints. The module cache and the tree stay as they are. The copies always have the same
// folder, so that the compiler knows from the last run what it has compiled.
type copies struct {
	dir    string
	points []point
}

// newCopies writes the copies, and a go.mod that names them.
func newCopies() (*copies, error) {
	c := &copies{dir: filepath.Join(os.TempDir(), "holdfast-failpoints")}
	arguments := []string{"mod", "edit"}
	for i, module := range gofailModules {
		root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
		if err != nil {
			return nil, fmt.Errorf("find module %s: %w", module, err)
		}
		dir := filepath.Join(c.dir, fmt.Sprintf("module-%d", i))
		if err := c.addModule(strings.TrimSpace(string(root)), dir); err != nil {
			return nil, fmt.Errorf("failpoints of %s: %w", module, err)
		}
		arguments = append(arguments, "-replace", module+"="+dir)
	}
	for from, to := range map[string]string{"../go.mod": c.modfile(), "../go.sum": filepath.Join(c.dir, "go.sum")} {
		text, err := os.ReadFile(from)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(to, text, 0o600); err != nil {
			return nil, err
		}
	}
	if output, err := exec.Command("go", append(arguments, c.modfile())...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go mod edit: %w: %s", err, output)
	}
	return c, nil
}

// modfile is the name of the go.mod of the tests with the copies instead of the modules.
func (c *copies) modfile() string { return filepath.Join(c.dir, "go.mod") }

// addModule copies the sources of a module.
func (c *copies) addModule(root, dir string) error {
	folders := map[string][]*code.Failpoint{}
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(file, "_test.go") {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		target := filepath.Join(dir, relative)
		if !strings.HasSuffix(file, ".go") || !bytes.Contains(text, []byte("// gofail:")) {
			return write(target, text)
		}
		var changed bytes.Buffer
		found, err := code.ToFailpoints(&changed, bytes.NewReader(text))
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		for _, one := range found {
			fails := bytes.Contains(text, []byte("// gofail: var "+one.Name()+" string"))
			c.points = append(c.points, point{name: one.Name(), fails: fails, etcd: true})
		}
		folders[filepath.Dir(target)] = append(folders[filepath.Dir(target)], found...)
		return write(target, changed.Bytes())
	})
	if err != nil {
		return err
	}
	for folder, found := range folders {
		name, err := packageName(folder)
		if err != nil {
			return err
		}
		var variables bytes.Buffer
		if err := code.NewBinding(name, found).Write(&variables); err != nil {
			return err
		}
		if err := write(filepath.Join(folder, "zz_failpoints.go"), variables.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// write writes a file, unless it has the text already.
func write(file string, text []byte) error {
	if old, err := os.ReadFile(file); err == nil && bytes.Equal(old, text) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}

// packageName returns the name of the package in a folder.
func packageName(folder string) (string, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return "", err
	}
	for _, file := range files {
		if parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly); err == nil {
			return parsed.Name.Name, nil
		}
	}
	return "", fmt.Errorf("%s has no package", folder)
}
