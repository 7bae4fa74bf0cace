package faults_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The power fails while a server writes. The disk then has all that the server synced before, and any
// part of the bytes that it wrote since. The server opens such files with every acknowledged write and
// a part of the later ones, in their order, or it stops with one line that says what to do.
func TestPowerLoss(t *testing.T) {
	t.Parallel()
	s := newSeed(t)
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	server := newServer(data)
	server.start(t)
	const synced, later = 30, 30
	createNumbered(t, server.client.Load(), 0, synced)
	server.pause(t)
	// What the paused server has acknowledged is on disk.
	before := filepath.Join(dir, "before")
	if err := os.CopyFS(before, os.DirFS(data)); err != nil {
		t.Fatal(err)
	}
	server.resume()
	createNumbered(t, server.client.Load(), synced, later)
	server.kill()

	old, written, name := logFiles(t, before, data)
	first, last := changedBytes(old, written)
	random := s.random("cuts")
	opened, stopped, fewest := 0, 0, later
	for i := range rounds(t, 2, 100) {
		cut := first + random.IntN(last-first)
		broken := filepath.Join(dir, fmt.Sprintf("broken-%d", i))
		if err := os.CopyFS(broken, os.DirFS(before)); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(broken, "etcd/member/wal", name), damage(random, old, written, cut), 0o600); err != nil {
			t.Fatal(err)
		}
		if n, ok := openBroken(t, broken); ok {
			opened, fewest = opened+1, min(fewest, n-synced)
		} else {
			stopped++
		}
		if t.Failed() {
			t.Fatalf("the log was cut at byte %d of %d to %d", cut, first, last)
		}
	}
	t.Logf("%d cuts between the bytes %d and %d: %d opened, with %d later writes at least, and %d stopped with advice",
		opened+stopped, first, last, opened, fewest, stopped)
}

func createNumbered(t *testing.T, c *client, from, count int) {
	t.Helper()
	for i := range count {
		object := map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": fmt.Sprintf("number-%03d", from+i)},
		}
		if a := c.create(t.Context(), "/api/v1/namespaces/default/configmaps", object); a.err != nil {
			t.Fatal(a.err)
		}
	}
}

// logFiles returns the content of the log before and after the later writes, and the name of its file.
func logFiles(t *testing.T, before, after string) (old, written []byte, name string) {
	t.Helper()
	read := func(dir string) map[string][]byte {
		files, err := filepath.Glob(filepath.Join(dir, "etcd/member/wal/*.wal"))
		if err != nil {
			t.Fatal(err)
		}
		contents := map[string][]byte{}
		for _, file := range files {
			if contents[filepath.Base(file)], err = os.ReadFile(file); err != nil {
				t.Fatal(err)
			}
		}
		return contents
	}
	first, second := read(before), read(after)
	for _, name := range slices.Sorted(maps.Keys(first)) {
		if !bytes.Equal(first[name], second[name]) {
			return first[name], second[name], name
		}
	}
	t.Fatal("the later writes did not change the log")
	return nil, nil, ""
}

// changedBytes returns the first changed byte, and the end of the changed bytes.
func changedBytes(old, written []byte) (first, end int) {
	for first < len(old) && old[first] == written[first] {
		first++
	}
	end = len(written)
	for end > first && end <= len(old) && old[end-1] == written[end-1] {
		end--
	}
	return first, end
}

// damage returns the log with the written bytes before the cut. After the cut, the file ends, or has
// the bytes that it had before.
func damage(random *rand.Rand, old, written []byte, cut int) []byte {
	if random.IntN(2) == 0 {
		return slices.Clone(written[:cut])
	}
	return slices.Concat(written[:cut], old[cut:])
}

// openBroken starts a server on damaged files. It returns the number of objects, or false if the server
// stopped with advice.
func openBroken(t *testing.T, data string) (int, bool) {
	t.Helper()
	p := start(t, "holdfast", newServer(data).flags...)
	defer p.kill()
	if _, err := p.firstLine(); err != nil {
		text := p.output.String()
		if strings.Contains(text, "\n") || !strings.Contains(text, "restore a backup") {
			t.Errorf("the server stopped without one line of advice:\n%s", text)
		}
		return 0, false
	}
	c, err := newClient(filepath.Join(data, "admin.kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	list := c.get(t.Context(), "/api/v1/namespaces/default/configmaps")
	if list.err != nil {
		t.Fatal(list.err)
	}
	var names []string
	for _, object := range items(list.object) {
		if name := nameOf(object); strings.HasPrefix(name, "number-") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for i, name := range names {
		if name != fmt.Sprintf("number-%03d", i) {
			t.Errorf("object %d is missing, %s is there", i, name)
			break
		}
	}
	if len(names) < 30 {
		t.Errorf("%d objects, 30 were acknowledged before the last bytes were written", len(names))
	}
	return len(names), true
}
