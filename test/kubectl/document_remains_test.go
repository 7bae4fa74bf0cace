package kubectl_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// place is where the commands of a document run.
type place struct {
	// checkout has what a clone of the repository has after `make build`.
	checkout string
	home     string
}

// state is the files of a place: the type and the digest of each one. Empty folders do not count,
// as in git.
type state map[string]string

// notOfGuides are the folders that guides may change: the programs of the checkout and its index of git, and the caches
// that kubectl and Go keep in a home directory.
var notOfGuides = []string{
	"checkout/bin", "checkout/.git",
	"home/.kube/cache", "home/.cache/go-build", "home/go", "home/.config/go",
}

// files returns the state of a place.
func (p place) files(t *testing.T) state {
	t.Helper()
	found := state{}
	for name, dir := range map[string]string{"checkout": p.checkout, "home": p.home} {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			relative, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			relative = filepath.ToSlash(filepath.Join(name, relative))
			switch {
			case entry.IsDir() && slices.Contains(notOfGuides, relative):
				return fs.SkipDir
			case entry.IsDir():
				return nil
			case !entry.Type().IsRegular():
				found[relative] = entry.Type().String()
				return nil
			}
			text, err := os.ReadFile(path)
			found[relative] = fmt.Sprintf("%x", sha256.Sum256(text))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// leavesNothing fails the test if a document that ended has changed its place, or if a process that it started still runs.
func (p place) leavesNothing(t *testing.T, s *shell, before state, inMemory string) {
	t.Helper()
	if jobs, _ := s.run(t, "jobs -r"); jobs != "" {
		t.Errorf("the document ends, and these run:\n%s", jobs)
	}
	if diff := cmp.Diff(before, p.files(t)); diff != "" {
		t.Errorf("the document leaves files behind (+), or changes or deletes (-) files that it did not make:\n%s", diff)
	}
	if _, err := os.Stat(inMemory); err == nil {
		t.Errorf("the document leaves %s behind", inMemory)
	}
}

var (
	startsJob = regexp.MustCompile(`(?m)[^&]&$`)
	// dataDir matches the flag of a server.
	dataDir = regexp.MustCompile(`serve .*--data-dir (?:\./)?([\w-]+)`)
)

// remains returns what the commands of a document leave behind, as far as one can read it from the text. It looks at all
// documents in every run of the tests. The commands of most run in `make docs` only.
func remains(commands []documentCommand) []string {
	var all []string
	running := 0
	var data []string
	for _, c := range commands {
		if startsJob.MatchString(c.text) {
			running = c.line
		}
		if strings.HasPrefix(c.text, "kill $(jobs -p); wait") {
			running = 0
		}
		for _, found := range dataDir.FindAllStringSubmatch(c.text, -1) {
			data = append(data, found[1])
		}
		if rest, ok := strings.CutPrefix(c.text, "rm -rf "); ok {
			data = slices.DeleteFunc(data, func(dir string) bool { return slices.Contains(strings.Fields(rest), dir) })
		}
	}
	if running > 0 {
		all = append(all, fmt.Sprintf("no \"kill $(jobs -p); wait\" follows the process that line %d starts", running))
	}
	for _, dir := range data {
		all = append(all, fmt.Sprintf("no \"rm -rf %s\" follows the server with that data directory", dir))
	}
	return all
}

func TestRemains(t *testing.T) {
	t.Parallel()
	const start, end, remove = "bin/holdfast serve --data-dir ./data --secure-port 7443 &", "kill $(jobs -p); wait", "rm -rf config data"
	tests := map[string]struct {
		commands []string
		want     int
	}{
		"clean":         {[]string{start, "a && b", end, start, end, remove}, 0},
		"nothing":       {nil, 0},
		"runs":          {[]string{start, end, start, remove}, 1},
		"data":          {[]string{start, end, "rm -rf data-two"}, 1},
		"data again":    {[]string{remove, start, end}, 1},
		"fails at once": {[]string{"bin/holdfast serve --log-format json --data-dir /dev/null/data"}, 0},
	}
	for name, test := range tests {
		var commands []documentCommand
		for i, text := range test.commands {
			commands = append(commands, documentCommand{line: i + 1, text: text})
		}
		if got := remains(commands); len(got) != test.want {
			t.Errorf("%s: got %q, want %d", name, got, test.want)
		}
	}
}

func TestPlaceSeesChanges(t *testing.T) {
	t.Parallel()
	p := place{checkout: t.TempDir(), home: t.TempDir()}
	write := func(dir, name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(p.checkout, "examples/a.yaml", "a")
	write(p.checkout, "examples/b.yaml", "b")
	before := p.files(t)
	write(p.checkout, "bin/holdfast", "program")
	write(p.home, ".kube/cache/discovery", "text")
	if diff := cmp.Diff(before, p.files(t)); diff != "" {
		t.Errorf("programs and caches count:\n%s", diff)
	}
	write(p.checkout, "examples/a.yaml", "changed")
	write(p.home, ".config/holdfast/repositories.yaml", "list")
	if err := os.Remove(filepath.Join(p.checkout, "examples/b.yaml")); err != nil {
		t.Fatal(err)
	}
	after := p.files(t)
	for _, name := range []string{"checkout/examples/a.yaml", "checkout/examples/b.yaml", "home/.config/holdfast/repositories.yaml"} {
		if before[name] == after[name] {
			t.Errorf("no change of %s", name)
		}
	}
}
