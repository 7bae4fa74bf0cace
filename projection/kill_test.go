package projection_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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

// TestKilledAtRandom kills a process that writes generation after generation,
// and looks at what it left on the real file system. HOLDFAST_SOAK makes it go on
// for that long.
func TestKilledAtRandom(t *testing.T) {
	dir := t.TempDir()
	limit, _ := time.ParseDuration(os.Getenv("HOLDFAST_SOAK"))
	rounds := 0
	for begin := time.Now(); rounds < 25 || time.Since(begin) < limit; rounds++ {
		killedOnce(t, dir)
		seen := complete(t, dir)
		if err := (projection.Writer{}).Repair(dir); err != nil {
			t.Fatal(err)
		}
		if after := complete(t, dir); after != seen {
			t.Fatalf("repair changed generation %d to %d", seen, after)
		}
		for _, line := range tree(t, dir) {
			if strings.HasPrefix(line, "..data_tmp") {
				t.Errorf("%s was left", line)
			}
		}
	}
	t.Logf("%d rounds", rounds)
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
