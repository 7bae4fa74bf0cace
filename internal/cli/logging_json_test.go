package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"holdfast.dev/holdfast/internal/cli"
	"holdfast.dev/holdfast/internal/waittest"
)

// programEnv has the command line of a process that a test starts.
const programEnv = "HOLDFAST_TEST_PROGRAM"

// TestProgram is the program in a process that startProgram starts, and no test.
func TestProgram(t *testing.T) {
	args := os.Getenv(programEnv)
	if args == "" {
		t.Skip("run by startProgram")
	}
	os.Args = append([]string{"holdfast"}, strings.Split(args, "\n")...)
	os.Exit(cli.Main())
}

// program is a process of the program, with all that it prints.
type program struct {
	*exec.Cmd
	mu     sync.Mutex
	output bytes.Buffer
}

// Write implements io.Writer.
func (p *program) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.output.Write(text)
}

// printed returns stdout and stderr.
func (p *program) printed() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.output.String()
}

// startProgram starts the program as a process of its own.
func startProgram(t *testing.T, args ...string) *program {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &program{Cmd: exec.Command(self, "-test.run", "^TestProgram$")}
	p.Env = append(os.Environ(), programEnv+"="+strings.Join(args, "\n"))
	p.Stdout, p.Stderr = p, p
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Process.Kill() })
	return p
}

// end ends the process, and checks that each line that it has printed is JSON.
func (p *program) end(t *testing.T, messages ...string) {
	t.Helper()
	_ = p.Process.Signal(syscall.SIGTERM)
	_ = p.Wait() // the exit code of a wrong command line is not 0
	for line := range strings.Lines(p.printed()) {
		var record struct{ Time, Level, Msg string }
		if err := json.Unmarshal([]byte(line), &record); err != nil || record.Time == "" || record.Level == "" || record.Msg == "" {
			t.Errorf("not a record of the log: %s", line)
		}
	}
	for _, message := range messages {
		if !strings.Contains(p.printed(), message) {
			t.Errorf("no record says %q:\n%s", message, p.printed())
		}
	}
}

// TestJSONOnly checks that a server and an agent print nothing but JSON with --log-format json: when they are ready,
// while the server is away, and if the command line is wrong.
func TestJSONOnly(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	server := startProgram(t, "serve", "--data-dir", dir, "--secure-port", "0", "--log-format", "json")
	waittest.Until(t, "the server is ready", func() bool { return strings.Contains(server.printed(), `"msg":"ready at `) })
	file := filepath.Join(t.TempDir(), "node.kubeconfig")
	if _, err := run(t.Context(), "kubeconfig", "--node", "host-1", "--kubeconfig", filepath.Join(dir, "admin.kubeconfig"), "--output-file", file); err != nil {
		t.Fatal(err)
	}
	agent := startProgram(t, "node", "--name", "host-1", "--kubeconfig", file, "--root", t.TempDir(), "--metrics-address", "", "--log-format", "json")
	waittest.Until(t, "the agent is ready", func() bool { return strings.Contains(agent.printed(), "the node belongs to this agent") })
	server.end(t, "server ends")
	waittest.Until(t, "the agent loses the server", func() bool { return strings.Contains(agent.printed(), "the server is away") })
	agent.end(t, "node host-1 keeps volumes in ", "agent ends")

	for message, args := range map[string]string{
		"cannot be the name of a node": "node\n--name\nUPPER\n--log-format\njson",
		"unknown flag: --bogus":        "node\n--bogus\n--log-format=json",
		"--config: open /none":         "serve\n--log-format=json\n--config=/none",
		"unexpected argument":          "serve\n--logging-format=json\nextra",
		"kubeconfig: stat /none":       "node\n--log-format=json\n--kubeconfig=/none",
	} {
		wrong := startProgram(t, strings.Split(args, "\n")...)
		if err := wrong.Wait(); err == nil {
			t.Errorf("%q succeeded", args)
		}
		wrong.end(t, message)
	}
}
