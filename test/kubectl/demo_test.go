package kubectl_test

import (
	"os"
	"os/exec"
	"regexp"
	"testing"
)

// recordedDemo is what "holdfast demo" prints. README shows it as a picture, which tools/terminal draws.
const recordedDemo = "../../docs/demo.txt"

var (
	// demoDir matches the temporary directory of a demo.
	demoDir = regexp.MustCompile(`\S*/holdfast-demo-\d+`)
	// progress matches a line about a plan that runs. How many there are depends on the time that the plan takes.
	progress = regexp.MustCompile(`(?m)^\S+ \[(PENDING|IN_PROGRESS|COMPLETE)\]\n`)
)

// TestDemo runs the demo, and checks that it shows what is recorded and leaves nothing behind. `make docs` records
// the demo again if it shows something else.
func TestDemo(t *testing.T) {
	t.Parallel()
	temporary := t.TempDir()
	cmd := exec.Command("holdfast", "demo")
	cmd.Env = append(os.Environ(), "TMPDIR="+temporary)
	output, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("the demo leaves %v behind (%v)", left, err)
	}
	got := demoDir.ReplaceAllString(string(output), "/tmp/holdfast-demo")
	recorded, err := os.ReadFile(recordedDemo)
	if err != nil {
		t.Fatal(err)
	}
	if matches(progress.ReplaceAllString(string(recorded), ""), progress.ReplaceAllString(got, "")) {
		return
	}
	if os.Getenv(allDocuments) == "" {
		t.Errorf("the demo shows something else than docs/demo.txt: run make docs. It shows:\n%s", got)
	} else if err := os.WriteFile(recordedDemo, []byte(got), 0o644); err != nil {
		t.Error(err)
	} else {
		t.Log("docs/demo.txt is recorded again")
	}
}
