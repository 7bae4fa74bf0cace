package kubectl_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"holdfast.dev/holdfast/internal/waittest"
)

// TestDocuments runs the commands of the documents as they stand, each document in a shell and in
// a directory of its own, and compares the output. The guides share a port and a directory in
// memory, which are replaced.
//
// A block of the language sh has commands. A block of the language console has commands after
// "$ ", each followed by its output. Blocks of other languages, and those marked as slow, are not
// run. When a document ends, its checkout and the home directory have the files that they had before, and none of its processes
// runs. Without the variable allDocuments, only the commands of README and of the tour are run, and the
// others are parsed: all of them take minutes.
func TestDocuments(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(names, filepath.Join(root, "README.md")) {
		name := filepath.Base(path)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			commands, err := parseDocument(string(text))
			if err != nil {
				t.Fatal(err)
			}
			for _, problem := range remains(commands) {
				t.Error(problem)
			}
			if len(commands) == 0 || name != "README.md" && name != "tour.md" && os.Getenv(allDocuments) == "" {
				return
			}
			port := freePort(t)
			inMemory := "/dev/shm/holdfast-" + port
			t.Cleanup(func() { _ = os.RemoveAll(inMemory) })
			own := strings.NewReplacer("7443", port, "6443", port, "7444", freePort(t), "9443", freePort(t),
				"2379", freePort(t), "2380", freePort(t), "/dev/shm/holdfast", inMemory)
			p := place{checkout: documentDir(t, root), home: t.TempDir()}
			before := p.files(t)
			s := startShell(t, p)
			for _, c := range commands {
				c.text, c.want = own.Replace(c.text), own.Replace(c.want)
				c.runIn(t, s, name)
			}
			p.leavesNothing(t, s, before, inMemory)
		})
	}
}

// runIn runs a command of a document and fails the test unless the command does what the document says. Objects may appear some
// time after the command that causes them, so a command that only reads is repeated.
func (c documentCommand) runIn(t *testing.T, s *shell, document string) {
	t.Helper()
	attempt := func() error {
		out, status := s.run(t, c.text)
		if c.checked && matches(c.want, out) || !c.checked && status == 0 {
			return nil
		}
		return fmt.Errorf("status %d, output:\n%s\nwant:\n%s", status, out, c.want)
	}
	what := fmt.Sprintf("%s:%d: the command works as it stands: $ %s", document, c.line, c.text)
	if reads.MatchString(c.text) {
		waittest.Until(t, what, attempt)
	} else if err := attempt(); err != nil {
		t.Fatalf("not so: %s\n%v", what, err)
	}
}

// allDocuments is the environment variable that `make docs` sets.
const allDocuments = "HOLDFAST_DOCUMENTS"

// reads matches the commands that only read.
var reads = regexp.MustCompile(`^(kubectl (get|describe|wait|logs|explain|auth)|cat|ls|` +
	`(bin/)?holdfast (owners|history|node status|kudo (get|plan status)))\b`)

func inDir(dir, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	return cmd
}

// documentDir returns a directory with what a clone of the repository has after `make build`.
func documentDir(t *testing.T, root string) string {
	t.Helper()
	dir := t.TempDir()
	program, err := exec.LookPath("holdfast")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(program, filepath.Join(dir, "bin", "holdfast")); err != nil {
		t.Fatal(err)
	}
	// Copies, because go list does not follow links.
	for _, name := range []string{"examples", "dist"} {
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join(root, name))); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join(root, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	const commits = `git init -q && git add examples && git -c user.name=a -c user.email=a@example.com commit -qm one &&
		git -c user.name=a -c user.email=a@example.com commit -q --allow-empty -m two`
	if out, err := inDir(dir, "bash", "-c", commits).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

// matches compares an output with that in a document. Times, ages, sizes, UIDs with a
// resourceVersion after them, and the width of columns may differ. A line "..." stands for any lines.
func matches(want, got string) bool {
	var pattern strings.Builder
	for line := range strings.Lines(normalize(want)) {
		if line = strings.TrimSuffix(line, "\n"); line == "..." {
			pattern.WriteString(`(?:[^\n]*\n)*`)
		} else {
			pattern.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), `\.\.\.`, `.*`) + "\n")
		}
	}
	return regexp.MustCompile(`^` + pattern.String() + `$`).MatchString(normalize(got))
}

// varying matches the parts of an output that differ between runs.
var varying = regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d( UTC|Z)?|` +
	`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}( +\d+)?|\b[0-9a-f]{16,64}\b|\b\d+(\.\d+)? ?(ms|s|m|h|d|MB|KB|seconds)\b|\b\d+m\d+s\b`)

func normalize(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(strings.Join(strings.Fields(varying.ReplaceAllString(line, "X")), " ") + "\n")
	}
	return out.String()
}
