package upgrade_test

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// The files of a release beside its data directory.
const (
	dataFolder     = "data"
	encryptionFile = "encryption.yaml"
	objectsFile    = "objects.json"
)

// server is a running server of any release.
type server struct {
	program, kubeconfig string
	cmd                 *exec.Cmd
	errors              bytes.Buffer
	config              *rest.Config
}

// start starts the program of a release on the data in dir, and waits until it is ready. The server is killed at the end of the test
// if it still runs.
func start(t *testing.T, program, dir string) *server {
	t.Helper()
	data := filepath.Join(dir, dataFolder)
	s := &server{program: program, kubeconfig: filepath.Join(data, "admin.kubeconfig")}
	s.cmd = exec.Command(program, "serve", "--data-dir", data, "--secure-port", "0",
		"--encryption-provider-config", filepath.Join(dir, encryptionFile))
	s.cmd.Stderr = &s.errors
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.cmd.Process.Kill() })
	// The server prints its line when it is ready.
	if n, err := out.Read(make([]byte, 1)); n == 0 {
		_ = s.cmd.Wait()
		t.Fatalf("%s on data of another release: %v: %s", program, err, s.errors.String())
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	if s.config, err = clientcmd.BuildConfigFromFlags("", s.kubeconfig); err != nil {
		t.Fatal(err)
	}
	s.config.QPS = -1
	return s
}

// stop stops the server as systemd does.
func (s *server) stop(t *testing.T) {
	t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Wait(); err != nil {
		t.Fatalf("stop: %v: %s", err, s.errors.String())
	}
}

// run runs a command of the program, with input.
func (s *server) run(t *testing.T, input string, args ...string) {
	t.Helper()
	cmd := exec.Command(s.program, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+s.kubeconfig)
	cmd.Stdin = strings.NewReader(input)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("holdfast %s: %v: %s", strings.Join(args, " "), err, out)
	}
}
