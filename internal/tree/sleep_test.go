package tree_test

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"
)

// sleepers are the tests that sleep although time passes for them: files and folders, each with the reason. Tests with
// testing/synctest are not among them, because their sleep takes no time. A test that waits calls package waittest.
var sleepers = map[string]string{
	"internal/apiserver/builtin/used_by_node_bench_test.go": "measures the memory of a server until it does not fall any more",
	"internal/apiserver/replicas_keep_test.go":              "creates an object at different moments of a deletion",
	"internal/apiserver/custom/main_test.go":                "sends a request again after the answer 429, as client-go does",
	"internal/lifecycle/collection/model_worker_test.go":    "writes at random moments",
	"internal/node/bench_test.go":                           "measures for a given time",
	"internal/node/soak_test.go":                            "reads the files of agents all the time, and leaves them processor time",
	"internal/apiserver/migration/kill_test.go":             "kills a server at a random moment of a migration",
	"internal/projection/kill_test.go":                      "kills a process at a random moment",
	"test/faults":                                           "breaks servers at random moments, and sends requests with pauses",
}

// TestSleep checks that no test sleeps to wait for something. A sleep is too short on a busy machine, and too long on others.
func TestSleep(t *testing.T) {
	unused := map[string]bool{}
	for place := range sleepers {
		unused[place] = true
	}
	tree := os.DirFS(root)
	err := fs.WalkDir(tree, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(file, "_test.go") {
			return err
		}
		source, err := fs.ReadFile(tree, file)
		if err != nil || !bytes.Contains(source, []byte("time.Sleep(")) || bytes.Contains(source, []byte(`"testing/synctest"`)) {
			return err
		}
		for _, place := range []string{file, path.Dir(file)} {
			if sleepers[place] != "" {
				delete(unused, place)
				return nil
			}
		}
		t.Errorf("%s: time.Sleep: use package waittest to wait, or name the reason in sleep_test.go", file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for place := range unused {
		t.Errorf("sleep_test.go names %s, which has no test that sleeps", place)
	}
}
