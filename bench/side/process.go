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
	// earlier is the CPU time of the runs of the program that have ended.
	earlier time.Duration
}

// startProcess starts a program with its output in a file of dir.
func startProcess(dir, program string, args ...string) (*process, error) {
	p := &process{log: filepath.Join(dir, filepath.Base(program)+".log")}
	return p, p.start(program, args)
}

func (p *process) start(program string, args []string) error {
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	cmd, done := exec.Command(program, args...), make(chan struct{})
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return errors.Join(fmt.Errorf("start %s: %w", program, err), log.Close())
	}
	go func() {
		// The log says how the program ended.
		_ = cmd.Wait()
		_ = log.Close()
		close(done)
	}()
	p.cmd, p.done = cmd, done
	return nil
}

// kill ends the program without warning, as a power failure does, and waits for its end.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// restart kills the program, and starts it again with the same arguments.
func (p *process) restart() error {
	p.kill()
	p.earlier += p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
	return p.start(p.cmd.Path, p.cmd.Args[1:])
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
