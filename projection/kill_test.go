package projection_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast.dev/holdfast/projection"
)

// childDir makes this test binary a writer instead, one that is to be killed.
const childDir = "HOLDFAST_TEST_WRITE"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		for n := 0; ; n++ {
			if _, err := (projection.Writer{}).Write(dir, generation(n), nil); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			if n == 0 {
				fmt.Println("writing")
			}
		}
	}
	os.Exit(m.Run())
}

// TestSoakKilledAtRandom kills a process that writes generation after generation,
// while another reads, and looks at what it left on the real file system. Each
// round is the next start. HOLDFAST_SOAK makes it go on for that long.
func TestSoakKilledAtRandom(t *testing.T) {
	limit := time.Duration(0)
	if text := os.Getenv("HOLDFAST_SOAK"); text != "" {
		var err error
		if limit, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	// From here on there is a complete set at all times.
	if _, err := (projection.Writer{}).Write(dir, generation(0), nil); err != nil {
		t.Fatal(err)
	}
	reader := &reader{dir: dir}
	ctx, cancel := context.WithCancel(t.Context())
	var reading sync.WaitGroup
	defer reading.Wait()
	defer cancel()
	reading.Go(func() { reader.run(ctx) })
	rounds, cut := 0, 0
	for begin := time.Now(); rounds < 25 || time.Since(begin) < limit; rounds++ {
		killedOnce(t, dir)
		seen := complete(t, dir)
		if untidy(t, dir) {
			cut++
		}
		if err := (projection.Writer{}).Repair(dir); err != nil {
			t.Fatal(err)
		}
		if after := complete(t, dir); after != seen {
			t.Fatalf("repair changed generation %d to %d", seen, after)
		}
		if untidy(t, dir) {
			t.Fatalf("repair left %v", tree(t, dir))
		}
	}
	cancel()
	reading.Wait()
	for _, problem := range reader.problems {
		t.Error(problem)
	}
	t.Logf("%d rounds, %d of them cut a write short; %d complete sets read meanwhile, %d reads met a swap", rounds, cut, reader.whole, reader.torn)
	if reader.whole == 0 {
		t.Error("nothing was read")
	}
}

// untidy reports whether there is anything that a complete write does not leave.
func untidy(t *testing.T, dir string) bool {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	sets := 0
	for _, entry := range entries {
		if entry.Name() == "..data_tmp" {
			return true
		}
		if entry.IsDir() {
			sets++
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, entry.Name())); err != nil {
			return true // a name that leads nowhere
		}
	}
	return sets != 1
}

// reader reads a volume by its visible names, over and over.
type reader struct {
	dir         string
	whole, torn int
	problems    []string
}

func (r *reader) run(ctx context.Context) {
	names := map[string]bool{}
	for n := range 12 {
		for name := range generation(n) {
			names[name] = true
		}
	}
	for ctx.Err() == nil && len(r.problems) < 10 {
		if err := r.read(names); err != nil {
			r.problems = append(r.problems, err.Error())
		}
	}
}

// read opens every name that there may be. What it saw while one set was the
// current one must be all of that set, and nothing else.
func (r *reader) read(names map[string]bool) error {
	before, err := os.Readlink(filepath.Join(r.dir, "..data"))
	if err != nil {
		return err
	}
	payload := projection.Payload{}
	for name := range names {
		file := filepath.Join(r.dir, name)
		data, err := os.ReadFile(file)
		if err != nil {
			continue // this set has no such file, or is not the current one any more
		}
		info, err := os.Stat(file)
		if err != nil {
			continue
		}
		payload[name] = projection.File{Data: data, Mode: info.Mode()}
	}
	after, err := os.Readlink(filepath.Join(r.dir, "..data"))
	switch {
	case err != nil:
		return err
	case before != after:
		r.torn++
		return nil
	}
	n := -1
	for name, file := range payload {
		if _, err := fmt.Sscanf(string(file.Data), "generation %d", &n); err != nil {
			return fmt.Errorf("%s: %q", name, file.Data)
		}
		break
	}
	if n < 0 || !payload.Equal(generation(n)) {
		return fmt.Errorf("in %s a mixture: %v", before, payload)
	}
	r.whole++
	return nil
}

// killedOnce runs a writer for a moment.
func killedOnce(t *testing.T, dir string) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childDir+"="+dir)
	var stderr strings.Builder
	child.Stderr = &stderr
	stdout, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := stdout.Read(make([]byte, 1)); err != nil {
		t.Fatalf("writer: %v, %s", err, stderr.String())
	}
	time.Sleep(rand.N(10 * time.Millisecond)) // the chance in it, nothing is waited for
	_ = child.Process.Kill()
	_ = child.Wait()
}

// complete reads through the visible links and returns which generation it
// found; one that is not whole fails the test.
func complete(t *testing.T, dir string) int {
	t.Helper()
	whole, err := projection.Writer{}.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	n := -1
	for name, file := range whole {
		if _, err := fmt.Sscanf(string(file.Data), "generation %d", &n); err != nil {
			t.Fatalf("%s: %q", name, file.Data)
		}
		break
	}
	if !whole.Equal(generation(n)) {
		t.Fatalf("a mixture: %v", whole)
	}
	for name, file := range generation(n) {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || string(data) != string(file.Data) {
			t.Fatalf("%s of generation %d: %q, %v", name, n, data, err)
		}
	}
	return n
}
