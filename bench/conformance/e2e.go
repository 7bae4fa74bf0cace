package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"
)

// e2e runs the e2e program on one server.
type e2e struct {
	program, kubectl, kubeconfig string
	// dir is for logs and reports.
	dir string
	// limit is the time limit of one test.
	limit time.Duration
}

// stopTimeout is the time in which the program must end after it was interrupted. It cleans up and writes its report then.
const stopTimeout = time.Minute

// run runs one test in a process of its own, so that the test has a time limit.
func (e *e2e) run(ctx context.Context, number int, name string) (Result, error) {
	dir := filepath.Join(e.dir, fmt.Sprintf("%03d", number))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Result{}, err
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return Result{}, err
	}
	defer func() { _ = log.Close() }()
	ctx, cancel := context.WithTimeout(ctx, e.limit+2*stopTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, e.program, e.flags(dir, name)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = stopTimeout
	ended := cmd.Run()
	report := filepath.Join(dir, "junit_01.xml")
	results, err := readReport(report)
	if err != nil {
		return Result{}, errors.Join(ended, err)
	}
	// The report has 2 MB for each test, because it has entries for those that did not run.
	if err := os.Remove(report); err != nil {
		return Result{}, err
	}
	result, ran := results[name]
	if !ran {
		return Result{}, fmt.Errorf("%s did not run: %w", name, errors.Join(ended, errors.New("see "+log.Name())))
	}
	return result, nil
}

// flags returns the flags of the e2e program. It takes what it needs to know about the cluster from the server.
func (e *e2e) flags(dir, name string) []string {
	return []string{
		"--kubeconfig", e.kubeconfig, "--kubectl-path", e.kubectl, "--provider", "skeleton", "--report-dir", dir, "--disable-log-dump",
		"--dump-logs-on-failure=false", "--minStartupPods=0",
		"--ginkgo.focus", regexp.QuoteMeta(name) + "$", "--ginkgo.timeout", e.limit.String(), "--ginkgo.grace-period=10s",
		"--ginkgo.no-color", "--ginkgo.v",
	}
}
