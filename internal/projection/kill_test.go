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

	"holdfast.dev/holdfast/internal/projection"
)

// childDir is the environment variable that turns this test binary into a child process.
// The child writes to the directory in the variable until the test kills it.
const childDir = "HOLDFAST_TEST_WRITE"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		for n := 0; ; n++ {
			if _, err := (projection.Writer{}).Write(dir, generation(n)); err != nil {
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

// TestSoakKilledAtRandom starts a process that writes one generation after another on
// the real file system, and kills it at a random moment. Then it checks and repairs the
// volume and begins the next round. A reader reads the volume meanwhile. HOLDFAST_SOAK
// sets the duration; without it, the test stops after 25 rounds.
func TestSoakKilledAtRandom(t *testing.T) {
	limit := time.Duration(0)
	if text := os.Getenv("HOLDFAST_SOAK"); text != "" {
		var err error
		if limit, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	// From here on the volume has a complete set at all times.
	if _, err := (projection.Writer{}).Write(dir, generation(0)); err != nil {
		t.Fatal(err)
	}
	reader := &reader{dir: dir}
	ctx, cancel := context.WithCancel(t.Context())
	var reading sync.WaitGroup
	defer reading.Wait()
	defer cancel()
	reading.Go(func() { reader.run(ctx) })
	rounds, interrupted := 0, 0
	for begin := time.Now(); rounds < 25 || time.Since(begin) < limit; rounds++ {
		writeAndKill(t, dir)
		seen := complete(t, dir)
		if untidy(t, dir) {
			interrupted++
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
	t.Logf("%d rounds, %d of them interrupted a write; %d complete sets were read, %d reads were interrupted by a swap",
		rounds, interrupted, reader.whole, reader.interrupted)
	if reader.whole == 0 {
		t.Error("nothing was read")
	}
}

// untidy reports whether the volume has anything else than the result of a complete
// Write.
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
			return true // a link without a target
		}
	}
	return sets != 1
}

// reader reads a volume through its links, again and again.
type reader struct {
	dir string
	// whole counts the reads of a complete set, interrupted those during which the
	// current set changed.
	whole, interrupted int
	problems           []string
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

// read reads every name that any generation has. If the current set did not change
// meanwhile, the files must be exactly those of one generation.
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
			continue // the set has no such file, or it was replaced meanwhile
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
		r.interrupted++
		return nil
	}
	if _, err := generationOf(payload); err != nil {
		return fmt.Errorf("in %s: %w", before, err)
	}
	r.whole++
	return nil
}

// generationOf returns the number of the generation that a payload is. It returns an
// error if the payload is not exactly one generation.
func generationOf(payload projection.Payload) (int, error) {
	n := -1
	for name, file := range payload {
		if _, err := fmt.Sscanf(string(file.Data), "generation %d", &n); err != nil {
			return n, fmt.Errorf("%s: %q", name, file.Data)
		}
		break
	}
	if n < 0 || !payload.Equal(generation(n)) {
		return n, fmt.Errorf("a mixture: %v", payload)
	}
	return n, nil
}

// writeAndKill starts a writer process and kills it after a random time.
func writeAndKill(t *testing.T, dir string) {
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
	time.Sleep(rand.N(10 * time.Millisecond)) // the random moment; this waits for nothing
	_ = child.Process.Kill()
	_ = child.Wait()
}

// complete returns the number of the generation in the volume, read both with
// Writer.Read and through the links. It fails if the generation is not complete.
func complete(t *testing.T, dir string) int {
	t.Helper()
	whole, err := projection.Writer{}.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	n, err := generationOf(whole)
	if err != nil {
		t.Fatal(err)
	}
	for name, file := range generation(n) {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || string(data) != string(file.Data) {
			t.Fatalf("%s of generation %d: %q, %v", name, n, data, err)
		}
	}
	return n
}
