package conformance

import (
	"context"
	_ "embed"
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// Names returns the names of the conformance list, which the e2e program prints.
func Names(ctx context.Context, program string) ([]string, error) {
	printed, err := exec.CommandContext(ctx, program, "-list-conformance-tests").Output()
	if err != nil {
		return nil, fmt.Errorf("list the conformance tests: %w", err)
	}
	names := codenames(string(printed))
	if len(names) == 0 {
		return nil, fmt.Errorf("%s lists no conformance tests", program)
	}
	return names, nil
}

// Version returns the version of Kubernetes that the e2e program is from, such as "1.36.3".
func Version(ctx context.Context, program string) (string, error) {
	printed, err := exec.CommandContext(ctx, program, "-version").Output()
	if err != nil {
		return "", fmt.Errorf("version of the e2e program: %w", err)
	}
	return strings.TrimPrefix(strings.TrimSpace(string(printed)), "v"), nil
}

// codenames returns the sorted values of the key codename in a list in YAML. Such a value is a quoted string, which may go on in the
// next lines.
func codenames(list string) []string {
	var names []string
	for _, entry := range strings.Split(list, "\n  codename: ")[1:] {
		value, _, _ := strings.Cut(entry, "\n  description:")
		value = strings.Join(strings.Fields(value), " ")
		if quoted, found := strings.CutPrefix(value, "'"); found {
			value = strings.ReplaceAll(strings.TrimSuffix(quoted, "'"), "''", "'")
		}
		names = append(names, strings.Trim(value, `"`))
	}
	slices.Sort(names)
	return names
}

// serial reports whether no other test may run at the same time.
func serial(name string) bool { return strings.Contains(name, "[Serial]") }

// group returns the special interest group of a test, such as "sig-apps".
func group(name string) string {
	name, _, _ = strings.Cut(strings.TrimPrefix(name, "["), "]")
	return name
}

//go:embed containers.txt
var containersText string

//go:embed simulated.txt
var simulatedText string

// Containers returns the tests that need containers, each with the reason.
func Containers() map[string]string {
	all := map[string]string{}
	reason := ""
	for line := range strings.Lines(containersText) {
		line = strings.TrimRight(line, "\n")
		switch name, indented := strings.CutPrefix(line, "\t"); {
		case indented:
			all[name] = reason
		case line != "" && !strings.HasPrefix(line, "#"):
			reason = line
		}
	}
	return all
}

// Simulated returns the tests that run on simulated nodes.
func Simulated() map[string]bool {
	all := map[string]bool{}
	for line := range strings.Lines(simulatedText) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			all[line] = true
		}
	}
	return all
}
