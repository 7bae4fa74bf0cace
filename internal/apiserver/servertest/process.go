package servertest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/apiserver"
)

// processConfig is the environment variable that holds the configuration of a server
// in a process of its own.
const processConfig = "HOLDFAST_TEST_CONFIG"

// ProcessMain runs the tests of a package that calls StartProcess, and returns the
// exit code. A process that StartProcess started runs a server instead of tests.
func ProcessMain(m *testing.M) int {
	quiet()
	text := os.Getenv(processConfig)
	if text == "" {
		return m.Run()
	}
	if err := serveProcess(text); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func serveProcess(text string) error {
	var config apiserver.Config
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	server, err := apiserver.New(ctx, config)
	if err != nil {
		return err
	}
	return server.Run(ctx, func() { fmt.Println("ready") })
}

// Process is a server in a process of its own, which a test can kill or measure.
type Process struct {
	cmd    *exec.Cmd
	config apiserver.Config
}

// StartProcess starts a server in a process of its own and waits until it is ready.
// The process is the test binary again, so the package must run its tests by
// ProcessMain. It is killed when the test ends. Without a kubeconfig it writes one
// beside the data directory.
func StartProcess(t testing.TB, config apiserver.Config) *Process {
	t.Helper()
	if config.Kubeconfig == "" {
		config.Kubeconfig = config.DataDir + ".kubeconfig"
	}
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	p := &Process{cmd: exec.Command(os.Args[0]), config: config}
	p.cmd.Env = append(os.Environ(), processConfig+"="+string(text))
	var stderr strings.Builder
	p.cmd.Stderr = &stderr
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatalf("server in %s: %q, %v, %s", config.DataDir, line, err, stderr.String())
	}
	go func() { _, _ = io.Copy(io.Discard, stdout) }()
	return p
}

// Kill ends the process with SIGKILL, so the server cannot shut down in order.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// PID is the number of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// ProcessorTime returns the user and system time of the process. It skips the benchmark where there is no /proc.
func (p *Process) ProcessorTime(b *testing.B) time.Duration {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID()))
	if err != nil {
		b.Skip("no /proc: ", err)
	}
	// The name of the command, in parentheses, may contain spaces. User and system time are the 12th and the 13th field after it, in
	// hundredths of a second.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	user, err := strconv.Atoi(fields[11])
	system, err2 := strconv.Atoi(fields[12])
	if err := errors.Join(err, err2); err != nil {
		b.Fatal(err)
	}
	return time.Duration(user+system) * 10 * time.Millisecond
}

// Client is a typed client of the administrator.
func (p *Process) Client(t testing.TB) kubernetes.Interface {
	t.Helper()
	return kubernetes.NewForConfigOrDie(p.ClientConfig(t))
}

// ClientConfig is the client config of the administrator, without client-side rate limits.
func (p *Process) ClientConfig(t testing.TB) *rest.Config {
	t.Helper()
	return Config(t, p.config.Kubeconfig)
}
