package ecosystem_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// moduleDir returns the directory of a module in the module cache, with the
// checksum of testdata/modules.txt. The module is a path, which means the first
// version there, or path@version. Go downloads it if needed.
func moduleDir(t *testing.T, module string) string {
	t.Helper()
	pins, err := os.ReadFile("testdata/modules.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(pins)) {
		pin := strings.Fields(line)
		if len(pin) != 3 || pin[0] != module && pin[0]+"@"+pin[1] != module {
			continue
		}
		// Outside of any module, go does not verify the checksum. The test does.
		cmd := exec.Command("go", "mod", "download", "-json", pin[0]+"@"+pin[1])
		cmd.Dir = t.TempDir()
		cmd.Env = append(os.Environ(), "GOSUMDB=off", "GOFLAGS=", "GOWORK=off")
		out, err := cmd.Output()
		var got struct{ Dir, Sum, Error string }
		if len(out) > 0 {
			err = errors.Join(err, json.Unmarshal(out, &got))
		}
		if err != nil || got.Error != "" {
			t.Fatalf("download %s: %v %s", module, err, got.Error)
		}
		if got.Sum != pin[2] {
			t.Fatalf("%s %s has the sum %s", module, pin[1], got.Sum)
		}
		return got.Dir
	}
	t.Fatalf("testdata/modules.txt does not name %s", module)
	return ""
}

// manifest is an object and its file.
type manifest struct {
	*unstructured.Unstructured
	file string
}

// readManifests reads every object below a directory, or in a file.
func readManifests(t *testing.T, dir string) []manifest {
	t.Helper()
	var out []manifest
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
		for {
			document, err := documents.Read()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			content, err := yaml.ToJSON(document)
			if err != nil {
				return err
			}
			obj := &unstructured.Unstructured{}
			if obj.UnmarshalJSON(content) == nil {
				out = append(out, manifest{Unstructured: obj, file: filepath.Base(path)})
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) == 0 {
		t.Fatalf("nothing in %s", dir)
	}
	return out
}
