package demo

import (
	"bufio"
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	// startTimeout bounds the time until the server is ready and until a file appears.
	startTimeout = 30 * time.Second
	// stopTimeout is the time that a process has to end after SIGTERM.
	stopTimeout = 10 * time.Second
	poll        = 50 * time.Millisecond
)

// files are the files that the commands read.
//
//go:embed files
var files embed.FS

// session is a temporary directory with a server.
type session struct {
	program, dir string
	// processes run until the session is closed, the server first.
	processes []*exec.Cmd
}

func newSession(program string) (*session, error) {
	dir, err := os.MkdirTemp("", "holdfast-demo-")
	if err != nil {
		return nil, err
	}
	s := &session{program: program, dir: dir}
	source, err := fs.Sub(files, "files")
	if err == nil {
		err = os.CopyFS(dir, source)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// process returns a command of Holdfast that runs in the directory of the session. It has the
// kubeconfig of the server, and no other configuration of the user.
func (s *session) process(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, s.program, args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(s.dir, "data", "admin.kubeconfig"), "HOME="+s.dir, "KUBERC=off")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopTimeout
	return cmd
}

// start starts a process that runs until the session is closed. Its log is a file. Ctrl-C in a
// terminal goes to the whole process group, so the process gets a group of its own: the session
// ends it after the commands.
func (s *session) start(ctx context.Context, args ...string) (io.Reader, error) {
	cmd := s.process(context.WithoutCancel(ctx), args...)
	log, err := os.Create(filepath.Join(s.dir, args[0]+".log"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	cmd.Stderr = log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s.processes = append(s.processes, cmd)
	return out, nil
}

// startServer starts the server and waits until it is ready.
func (s *session) startServer(ctx context.Context) error {
	out, err := s.start(ctx, "serve", "--data-dir", "data", "--secure-port", "0")
	if err != nil {
		return err
	}
	ready := make(chan bool, 1)
	go func() {
		line, _ := bufio.NewReader(out).ReadString('\n')
		ready <- strings.Contains(line, "ready at")
		_, _ = io.Copy(io.Discard, out)
	}()
	select {
	case ok := <-ready:
		if ok {
			return nil
		}
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(startTimeout):
	}
	log, _ := os.ReadFile(filepath.Join(s.dir, "serve.log"))
	return fmt.Errorf("the server did not start: %s", bytes.TrimSpace(log))
}

// run runs a step and returns what it prints.
func (s *session) run(ctx context.Context, st step) (string, error) {
	switch {
	case st.file != "":
		answer, err := s.read(ctx, st.file)
		return answer, st.check(answer, err)
	case st.background:
		_, err := s.start(ctx, st.args...)
		return "", st.check("", err)
	}
	out, err := s.process(ctx, st.args...).CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		err = errRefused
	}
	return string(out), st.check(string(out), err)
}

// read reads a file, and waits for it if it is not there yet.
func (s *session) read(ctx context.Context, name string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		content, err := os.ReadFile(filepath.Join(s.dir, name))
		if err == nil {
			return string(content) + "\n", nil
		}
		select {
		case <-ctx.Done():
			return "", err
		case <-time.After(poll):
		}
	}
}

// close stops the processes, the server last, and removes the directory.
func (s *session) close() error {
	for i := len(s.processes) - 1; i >= 0; i-- {
		cmd := s.processes[i]
		_ = cmd.Process.Signal(syscall.SIGTERM)
		kill := time.AfterFunc(stopTimeout, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		kill.Stop()
	}
	return os.RemoveAll(s.dir)
}
