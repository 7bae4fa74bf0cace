package kubectl_test

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

// mark is in the line that ends the output of a command.
const mark = "\x01"

// shell is a bash that runs one command after the other.
type shell struct {
	in    io.Writer
	lines <-chan string
}

// startShell starts a bash in a checkout. It ends with the test, and so do the jobs that it
// started in the background.
func startShell(t *testing.T, p place) *shell {
	t.Helper()
	cmd := exec.Command("bash", "--noprofile", "--norc")
	cmd.Dir = p.checkout
	tools := t.TempDir()
	cmd.Env = append(os.Environ(), "HOME="+p.home, "KUBECONFIG=", "XDG_DATA_HOME=", "XDG_CONFIG_HOME=", "XDG_CACHE_HOME=",
		"PATH="+tools+":"+readersPath(t))
	// Go would compile and download everything again for the empty home directory.
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} {
		value, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Env = append(cmd.Env, name+"="+strings.TrimSpace(string(value)))
	}
	// The shell and its jobs get a process group of their own, so that all of them can be ended.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	// A pipe of the test and not of the command: Wait must not wait for the jobs.
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = write, write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = write.Close()
	lines := make(chan string)
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
		_ = in.Close()
		_ = cmd.Wait()
		// The pipe ends when the last job has ended.
		for range lines {
		}
		_ = read.Close()
	})
	if err := os.WriteFile(filepath.Join(tools, "make"), []byte("#!/bin/sh\n[ \"$*\" = build ]\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(lines)
		for reader := bufio.NewReader(read); ; {
			line, err := reader.ReadString('\n')
			if line != "" {
				lines <- line
			}
			if err != nil {
				return
			}
		}
	}()
	return &shell{in: in, lines: lines}
}

// readersPath returns the PATH of a reader that has not installed holdfast: it lacks the directory
// with the programs of the tests.
func readersPath(t *testing.T) string {
	t.Helper()
	program, err := exec.LookPath("holdfast")
	if err != nil {
		t.Fatal(err)
	}
	dirs := slices.DeleteFunc(filepath.SplitList(os.Getenv("PATH")), func(dir string) bool { return dir == filepath.Dir(program) })
	return strings.Join(dirs, string(os.PathListSeparator))
}

// ofServer matches what servers and agents in the background print between the outputs of the
// commands.
var ofServer = regexp.MustCompile(`^(holdfast: (ready at|node \S+ keeps volumes) |[IWEF]\d{4} |\d{4}-\d\d-\d\dT\S+ |time=|\{"level")`)

// run runs a command and returns its output and its status.
func (s *shell) run(t *testing.T, text string) (string, int) {
	t.Helper()
	encoded := base64.StdEncoding.EncodeToString([]byte(text))
	_, err := fmt.Fprintf(s.in, "eval \"$(echo %s | base64 -d)\" </dev/null; status=$?; echo; echo '%s'$status\n", encoded, mark)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	timeout := time.After(waittest.Patience)
	for {
		line, ok := "", false
		select {
		case line, ok = <-s.lines:
		case <-timeout:
		}
		if !ok {
			t.Fatalf("$ %s\nthe shell ended, or the command did not end:\n%s", text, strings.Join(out, ""))
		}
		if status, ok := strings.CutPrefix(line, mark); ok {
			code, err := strconv.Atoi(strings.TrimSpace(status))
			if err != nil {
				t.Fatal(err)
			}
			return trimOutput(strings.Join(out, "")), code
		}
		if !ofServer.MatchString(line) {
			out = append(out, line)
		}
	}
}

// trimOutput removes the line break that run adds, so that every output ends with exactly one.
func trimOutput(out string) string {
	out = strings.TrimSuffix(out, "\n")
	if out != "" && !strings.HasSuffix(out, "\n") {
		out += "\n"
	}
	return out
}

// freePort returns a port that is free at the moment.
func freePort(t *testing.T) string {
	t.Helper()
	return strconv.Itoa(servertest.FreePort(t))
}
