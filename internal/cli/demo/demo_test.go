package demo

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestLine checks that a user can copy the printed commands to a shell.
func TestLine(t *testing.T) {
	tests := map[string]step{
		`holdfast patch x -p '{"a":1}'`: command(`patch x -p {"a":1}`),
		"holdfast node --root host &":   command("node --root host").inBackground(),
		"cat host/file":                 {file: "host/file"},
	}
	for want, step := range tests {
		if got := step.line(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	for _, chapter := range chapters() {
		for _, step := range chapter.steps {
			for i, arg := range step.args {
				if i > 0 && step.args[i-1] == "-f" {
					if _, err := files.Open("files/" + arg); err != nil {
						t.Errorf("%s: %v", step.line(), err)
					}
				}
			}
		}
	}
}

// TestCheck checks which results of a command end the demo.
func TestCheck(t *testing.T) {
	tests := map[string]struct {
		step   step
		answer string
		err    error
		want   string
	}{
		"done":               {step: command("get")},
		"failed":             {step: command("get"), answer: "no", err: errRefused, want: "holdfast get failed: no"},
		"refused":            {step: command("get").rejected("immutable"), answer: "is\n  immutable", err: errRefused},
		"not refused":        {step: command("get").rejected(), want: "holdfast get: the server accepted what it should refuse"},
		"refused for others": {step: command("get").rejected("immutable"), answer: "no", err: errRefused, want: `holdfast get: the answer does not have "immutable": no`},
		"another answer":     {step: command("get").wanting("a b"), answer: "a", want: `holdfast get: the answer does not have "a b": a`},
		"not started":        {step: command("get").rejected(), err: os.ErrNotExist, want: "holdfast get: file does not exist"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := test.step.check(test.answer, test.err); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestScreen checks what is printed without and with colours.
func TestScreen(t *testing.T) {
	for colour, want := range map[bool]string{
		false: "\n1. A\n# b c\n$ d\ne\nWarning: f\n",
		true: "\n" + bold + "1. A" + reset + "\n" + dim + "# b c" + reset + "\n" + bold + "$ d" + reset + "\ne\n" +
			yellow + "Warning: f" + reset + "\n",
	} {
		var out bytes.Buffer
		s := newScreen(&out)
		s.colour = colour
		s.title("1. A")
		s.text("b %s", "c")
		s.command("d")
		s.answer("e\nWarning: f\n")
		if out.String() != want {
			t.Errorf("colour %t: got %q, want %q", colour, out.String(), want)
		}
	}
	var out bytes.Buffer
	newScreen(&out).text("%s", strings.Repeat("word ", 30))
	if lines := strings.Split(strings.TrimSpace(out.String()), "\n"); len(lines) != 2 || len(lines[0]) > width {
		t.Errorf("got %q", lines)
	}
}

// TestWait checks that the demo waits for one line before each command, and goes on at the end of
// its input.
func TestWait(t *testing.T) {
	s := newScreen(&bytes.Buffer{})
	if err := s.wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	keys := strings.NewReader("a\n\nrest")
	s.keys = keys
	for _, left := range []int{5, 4, 0} {
		if err := s.wait(t.Context()); err != nil || keys.Len() != left {
			t.Errorf("%v, %d left, want %d", err, keys.Len(), left)
		}
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = read.Close(), write.Close() }()
	s.keys = read
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestNoServer checks that nothing is left behind if the server does not start.
func TestNoServer(t *testing.T) {
	// Bash finds no script with the name serve.
	program, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	if err := run(t.Context(), program, newScreen(&bytes.Buffer{})); err == nil || !strings.Contains(err.Error(), "the server did not start") {
		t.Errorf("got %v", err)
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}
