package faults_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"holdfast.dev/holdfast/internal/waittest"
)

// process is a running program: holdfast or etcd.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{}
	// output has what the program wrote to stderr.
	output *tail
	lines  *bufio.Reader
}

// start starts a program under one of programNames. It is killed when the test ends.
func start(t *testing.T, name string, args ...string) *process {
	t.Helper()
	p, err := launch(exec.Command(filepath.Join(programs, name), args...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	return p
}

// launch starts a program.
func launch(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, ended: make(chan struct{}), output: &tail{}}
	p.cmd.Stderr = p.output
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.cmd.Stdout, p.lines = write, bufio.NewReader(read)
	err = p.cmd.Start()
	_ = write.Close()
	if err != nil {
		_ = read.Close()
		return nil, err
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// firstLine waits for the first line on stdout.
func (p *process) firstLine() (string, error) {
	line, err := p.lines.ReadString('\n')
	if err != nil {
		<-p.ended
		return "", fmt.Errorf("%s ended before it was ready: %s", filepath.Base(p.cmd.Path), p.output)
	}
	go func() { _, _ = io.Copy(io.Discard, p.lines) }()
	return line, nil
}

// kill ends the process with SIGKILL, as a crash would.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	<-p.ended
}

// hasEnded reports whether the process has ended.
func (p *process) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// pause stops the process where it is. It keeps its connections and does not answer. pause returns when no thread runs any more.
func (p *process) pause(t *testing.T) {
	t.Helper()
	p.signal(syscall.SIGSTOP)
	waittest.Until(t, "all threads of the process are paused", p.hasStopped)
}

// hasStopped reports whether all threads of the process are paused, or have ended.
func (p *process) hasStopped() bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.cmd.Process.Pid))
	for _, thread := range threads {
		stat, err := os.ReadFile(thread)
		if err != nil {
			continue // the thread has ended
		}
		// The state follows the name of the program: T is paused, Z and X have ended.
		_, state, _ := strings.Cut(string(stat), ") ")
		if state != "" && !strings.ContainsAny(state[:1], "TtZX") {
			return false
		}
	}
	return true
}

// resume lets a paused process go on.
func (p *process) resume() { p.signal(syscall.SIGCONT) }

func (p *process) signal(signal syscall.Signal) { _ = p.cmd.Process.Signal(signal) }

// tail keeps the end of what is written to it.
type tail struct {
	mutex sync.Mutex
	text  string
	// wrongCache is the line about a cache that differed from etcd.
	wrongCache string
}

func (l *tail) Write(p []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.text += string(p)
	if l.wrongCache == "" {
		for line := range strings.Lines(l.text) {
			if strings.Contains(line, "a cache differs from what it is computed from") {
				l.wrongCache = line
			}
		}
	}
	// The stack of a goroutine of etcd has some KB after the reason.
	if excess := len(l.text) - 32<<10; excess > 0 {
		l.text = l.text[excess:]
	}
	return len(p), nil
}

// alarm returns the line about a cache that differed from etcd, empty if there was none.
func (l *tail) alarm() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.wrongCache
}

func (l *tail) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return strings.TrimSpace(l.text)
}
