package projection_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast.dev/holdfast/internal/projection"
)

// The two functions are those of docs/node.md.

// readAll returns all files of a volume by name, as they were at one moment.
func readAll(volume string) (files map[string]string, err error) {
	for range 100 {
		files, err = readOnce(filepath.Join(volume, "..data"))
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return files, err
}

// readOnce reads all files below a link to a directory. It returns fs.ErrNotExist if the link was replaced meanwhile.
func readOnce(link string) (map[string]string, error) {
	dir, err := os.OpenRoot(link)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	files := map[string]string{}
	err = fs.WalkDir(dir.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := dir.ReadFile(path)
		files[path] = string(text)
		return err
	})
	if err != nil {
		return nil, err
	}
	opened, err := dir.Stat(".")
	if err != nil {
		return nil, err
	}
	current, err := os.Stat(link)
	if err == nil && !os.SameFile(opened, current) {
		err = fs.ErrNotExist
	}
	return files, err
}

// example returns the block of docs/node.md in a language that contains a text.
func example(t *testing.T, language, contains string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/node.md")
	if err != nil {
		t.Fatal(err)
	}
	for block := range strings.SplitSeq(string(page), "\n```"+language+"\n") {
		block, _, _ = strings.Cut(block, "```")
		if strings.HasPrefix(block, contains) {
			return block
		}
	}
	t.Fatalf("docs/node.md has no block in %s that begins with %q", language, contains)
	return ""
}

// TestReadAll checks that readers which do what docs/node.md says never see files of two versions, while a
// writer replaces all files together.
func TestReadAll(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("readers_test.go")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(source), example(t, "go", "// readAll")) {
		t.Error("the functions of this test are not those of docs/node.md")
	}
	volume := t.TempDir()
	write := func(version int) {
		files := map[string]string{}
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			files[name] = strconv.Itoa(version) + "\n"
		}
		if _, err := (projection.Writer{}).Write(volume, payloadOf(files)); err != nil {
			t.Error(err)
		}
	}
	write(0)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var writing sync.WaitGroup
	writing.Go(func() {
		for version := 1; ctx.Err() == nil; version++ {
			write(version)
		}
	})
	t.Run("Go", func(t *testing.T) { readersInGo(t, volume) })
	t.Run("shell", func(t *testing.T) { readersInShell(t, volume) })
	cancel()
	writing.Wait()
}

// readersInGo reads the files until 50 versions were seen.
func readersInGo(t *testing.T, volume string) {
	seen := map[string]bool{}
	for end := time.Now().Add(2 * time.Minute); len(seen) < 50; {
		if time.Now().After(end) {
			t.Fatalf("only %d versions were seen in 2 minutes", len(seen))
		}
		files, err := readAll(volume)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"b", "c", "d", "e"} {
			if files[name] != files["a"] || len(files) != 5 {
				t.Fatalf("files of several versions: %v", files)
			}
		}
		seen[files["a"]] = true
	}
}

// readersInShell reads the files 100 times with the function of docs/node.md.
func readersInShell(t *testing.T, volume string) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("needs sh")
	}
	script := example(t, "sh", "# read_all")
	function, _, found := strings.Cut(script, "\nread_all ")
	if !found {
		t.Fatalf("no call of read_all in\n%s", script)
	}
	out, err := exec.CommandContext(t.Context(), "sh", "-c", function+`
i=0
while test $i -lt 100; do i=$((i + 1)); echo $(read_all "$1"); done`, "sh", volume).Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	seen := map[string]bool{}
	for _, line := range lines {
		words := strings.Fields(line)
		for _, word := range words {
			if word != words[0] || len(words) != 5 {
				t.Fatalf("files of several versions: %s", line)
			}
		}
		seen[line] = true
	}
	if len(lines) != 100 || len(seen) < 2 {
		t.Errorf("%d lines, %d versions", len(lines), len(seen))
	}
}
