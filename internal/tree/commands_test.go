package tree_test

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// TestCommands checks the go test commands in the documents, because packages and
// benchmarks move and the documents do not follow by themselves.
func TestCommands(t *testing.T) {
	found, err := brokenCommands(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	for _, broken := range found {
		t.Error(broken)
	}
}

func TestCommandRules(t *testing.T) {
	tests := map[string]struct {
		document string
		want     []string
	}{
		"a package":              {document: "`go test ./skeleton/` is fast"},
		"a benchmark":            {document: "go test ./skeleton -run '^$' -bench Prune"},
		"benchmarks":             {document: "go test -bench 'PruneClean|Build' -count 6 ./skeleton >out.txt"},
		"another command":        {document: "go build ./gone"},
		"a package that is gone": {document: "go test ./gone", want: []string{"page.md:1: go test ./gone: there is no folder gone"}},
		"a benchmark that is gone": {
			document: "one\n(`go test ./skeleton -bench 'Prune|Gone'`)",
			want:     []string{"page.md:2: go test ./skeleton -bench 'Prune|Gone': skeleton has no benchmark Gone"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := brokenCommands(fstest.MapFS{
				"page.md": {Data: []byte(test.document)},
				"skeleton/bench_test.go": {
					Data: []byte("package skeleton_test\nfunc BenchmarkPruneClean(b *testing.B) {\nfunc BenchmarkBuild(b *testing.B) {\n"),
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("broken commands (-want +got):\n%s", diff)
			}
		})
	}
}

var (
	testCommand   = regexp.MustCompile("go test [^`]*[^`\\s]")
	testFolder    = regexp.MustCompile(`\./([a-z0-9/]*[a-z0-9])`)
	testBenchmark = regexp.MustCompile(`-bench '?([\w|]+)`)
)

// brokenCommands names every go test command in the Markdown files of a tree with a
// folder or a benchmark that does not exist.
func brokenCommands(tree fs.FS) ([]string, error) {
	var found []string
	err := documents(tree, func(file, text string) error {
		for i, line := range strings.Split(text, "\n") {
			for _, command := range testCommand.FindAllString(line, -1) {
				missing, err := missingIn(tree, command)
				if err != nil {
					return err
				}
				for _, what := range missing {
					found = append(found, fmt.Sprintf("%s:%d: %s: %s", file, i+1, command, what))
				}
			}
		}
		return nil
	})
	return found, err
}

// missingIn names the folders and benchmarks of a command that do not exist.
func missingIn(tree fs.FS, command string) ([]string, error) {
	var missing []string
	for _, folder := range testFolder.FindAllStringSubmatch(command, -1) {
		if _, err := fs.Stat(tree, folder[1]); err != nil {
			missing = append(missing, "there is no folder "+folder[1])
			continue
		}
		wanted := testBenchmark.FindStringSubmatch(command)
		if wanted == nil {
			continue
		}
		source, err := testSource(tree, folder[1])
		if err != nil {
			return nil, err
		}
		for name := range strings.SplitSeq(wanted[1], "|") {
			name = strings.TrimPrefix(name, "Benchmark")
			if !regexp.MustCompile(`func Benchmark\w*` + name).MatchString(source) {
				missing = append(missing, fmt.Sprintf("%s has no benchmark %s", folder[1], name))
			}
		}
	}
	return missing, nil
}

// testSource returns the source of all tests in a folder.
func testSource(tree fs.FS, folder string) (string, error) {
	files, err := fs.Glob(tree, path.Join(folder, "*_test.go"))
	if err != nil {
		return "", err
	}
	var all strings.Builder
	for _, file := range files {
		source, err := fs.ReadFile(tree, file)
		if err != nil {
			return "", err
		}
		all.Write(source)
	}
	return all.String(), nil
}
