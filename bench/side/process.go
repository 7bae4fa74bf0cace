package side

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// process is a running program.
type process struct {
	cmd *exec.Cmd
	// log is the file with the output of the program.
	log string
	// done is closed when the program has ended.
	done chan struct{}
}

// startProcess starts a program with its output in a file of dir.
func startProcess(dir, program string, args ...string) (*process, error) {
	p := &process{log: filepath.Join(dir, filepath.Base(program)+".log"), done: make(chan struct{})}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	p.cmd = exec.Command(program, args...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if err := p.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", program, err), log.Close())
	}
	go func() {
		// The log says how the program ended.
		_ = p.cmd.Wait()
		_ = log.Close()
		close(p.done)
	}()
	return p, nil
}

// running returns an error with the end of the log if the program has ended.
func (p *process) running() error {
	select {
	case <-p.done:
		return fmt.Errorf("%s has ended: %s", p.cmd.Path, p.lastLines())
	default:
		return nil
	}
}

// lastLines returns the end of the log.
func (p *process) lastLines() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(bytes.TrimSpace(text[max(0, len(text)-2000):]))
}

// stopTimeout is the time in which a program must end after it was interrupted.
const stopTimeout = 15 * time.Second

// stop ends the program and waits for its end.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(os.Interrupt)
	select {
	case <-p.done:
	case <-time.After(stopTimeout):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}
