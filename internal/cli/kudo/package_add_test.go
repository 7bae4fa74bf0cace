package kudo_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPackageAdd builds a package with commands.
func TestPackageAdd(t *testing.T) {
	location := filepath.Join(t.TempDir(), "greeter")
	offline(t, "package", "new", location)
	operator := filepath.Join(location, "operator.yaml")
	text, err := os.ReadFile(operator)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(operator, append([]byte("# Greets.\n"), text...), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, line := range [][]string{
		{"maintainer", "A Team", "team@example.com"},
		{"parameter", "SIZE", "--type", "integer", "--default", "3", "--description", "How many."},
		{"parameter", "CODE", "--default", "007", "--immutable", "--enum", "007", "--enum", "008"},
		{"parameter", "LIST", "--type", "array", "--default", "[a, 1]", "--required=false"},
		{"task", "service", "--resource", "service.yaml"},
		{"task", "files", "--kind", "Dummy", "--done"},
		{"plan", "backup", "--step", "main/save=service,files", "--step", "main/rest=app", "--step", "end/wait=files"},
	} {
		out := offline(t, append(append([]string{"package", "add"}, line...), "--path", location)...)
		if want := line[0] + " " + line[1] + " added to package " + location; out != want {
			t.Errorf("got %q, want %q", out, want)
		}
	}
	for file, wants := range map[string][]string{
		"operator.yaml": {
			"# Greets.\napiVersion", "maintainers:\n- name: A Team\n  email: team@example.com\n",
			"- name: service\n  kind: Apply\n  spec:\n    resources:\n    - service.yaml\n",
			"  backup:\n    strategy: serial\n    phases:\n    - name: main\n      strategy: serial\n      steps:\n      - name: save\n",
		},
		"params.yaml": {
			"- name: SIZE\n  description: How many.\n  default: 3\n  type: integer\n", "  default: \"007\"\n  immutable: true\n  enum:\n  - \"007\"\n",
			"- name: LIST\n  required: false\n  default:\n  - a\n  - 1\n  type: array\n",
		},
		"templates/service.yaml": {"# Objects of service.\n"},
	} {
		text, err := os.ReadFile(filepath.Join(location, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s: want\n%s\nin\n%s", file, want, text)
			}
		}
	}
	before, err := os.ReadFile(operator)
	if err != nil {
		t.Fatal(err)
	}
	for want, line := range map[string][]string{
		"plans.backup exists":         {"plan", "backup", "--step", "a/b=app"},
		"there is no task \"gone\"":   {"plan", "other", "--step", "a/b=gone"},
		"must be PHASE/STEP=TASK":     {"plan", "other", "--step", "app"},
		"is not one of Apply, Delete": {"task", "odd", "--kind", "Odd"},
		"name: required":              {"parameter"},
		"operator: required":          {"task", "child", "--kind", "KudoOperator"},
		"\"app\"":                     {"task", "app", "--resource", "config.yaml"},
	} {
		out, err := run(t.Context(), append(append([]string{"package", "add"}, line...), "--path", location)...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v\n%s", line, err, out)
		}
	}
	if after, err := os.ReadFile(operator); err != nil || string(after) != string(before) {
		t.Errorf("a refused addition changed the file: %v\n%s", err, after)
	}
}
