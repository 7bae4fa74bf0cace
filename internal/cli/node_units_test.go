package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestUnits checks the form of the units for systemd, and that they use flags that exist.
func TestUnits(t *testing.T) {
	units, err := filepath.Glob("../../dist/systemd/*")
	if err != nil || len(units) != 3 {
		t.Fatalf("%v, %v", units, err)
	}
	setting := regexp.MustCompile(`^[A-Z][A-Za-z]+=.+$`)
	for _, unit := range units {
		data, err := os.ReadFile(unit)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			line = strings.TrimSpace(line)
			isSection := strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]")
			if line != "" && !strings.HasPrefix(line, "#") && !isSection && !setting.MatchString(line) {
				t.Errorf("%s: %s", unit, line)
			}
			command, isCommand := strings.CutPrefix(line, "ExecStart=/usr/local/bin/holdfast ")
			if !isCommand {
				continue
			}
			words := strings.Fields(command)
			help, err := run(t.Context(), words[0], "--help")
			if err != nil {
				t.Fatal(err)
			}
			for _, word := range words[1:] {
				if strings.HasPrefix(word, "--") && !strings.Contains(help, word+" ") {
					t.Errorf("%s: no flag %s", unit, word)
				}
			}
		}
	}
}

// TestUnitsVerify lets systemd check the units, on hosts that have it. The units name the test binary
// instead of a holdfast that is not installed.
func TestUnitsVerify(t *testing.T) {
	t.Parallel()
	verify, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("needs systemd-analyze")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	units, err := filepath.Glob("../../dist/systemd/*")
	if err != nil {
		t.Fatal(err)
	}
	arguments, dir := []string{"verify", "--man=no"}, t.TempDir()
	for _, unit := range units {
		data, err := os.ReadFile(unit)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, filepath.Base(unit))
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(data), "/usr/local/bin/holdfast", self)), 0o644); err != nil {
			t.Fatal(err)
		}
		arguments = append(arguments, file)
	}
	// systemd-analyze succeeds with settings that it does not know, and prints them.
	if out, err := exec.CommandContext(t.Context(), verify, arguments...).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}
