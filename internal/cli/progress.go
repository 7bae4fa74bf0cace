package cli

import (
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// progressInterval is the time after which a command shows that it still works, and the interval
// at which it does so again.
const progressInterval = 2 * time.Second

// activities say what a command does while a user waits for it. The commands without a text run
// until they are stopped, or show their progress themselves.
var activities = map[string]string{
	"serve": "", "demo": "", "node": "", "kudo manager": "", "guard serve": "", "backup": "", "restore": "", "schema migrate": "",
	"kudo package create":          "reads the package",
	"kudo package list parameters": "reads the package",
	"kudo package list plans":      "reads the package",
	"kudo package list tasks":      "reads the package",
	"kudo package migrate":         "reads the package",
	"kudo package verify":          "renders the package",
	"kudo repo add":                "reads the repository",
	"kudo repo index":              "reads the packages",
	"kudo search":                  "reads the repository",
	"kudo uninstall":               "waits until the instance is gone",
	"kudo init":                    "waits for the manager",
	"schema generate":              "reads the Go packages",
	"guard audit":                  "reads the objects of the cluster",
}

// activityOf returns what a command does while a user waits for it, empty if it needs no line
// about that.
func activityOf(cmd *cobra.Command) string {
	path := pathOf(cmd)
	if text, known := activities[path]; known {
		return text
	}
	// A command that waits for a plan shows the plan.
	if wait, err := cmd.Flags().GetBool("wait"); cmd.Flags().Lookup("kubeconfig") == nil || err == nil && wait || path == "kudo plan wait" {
		return ""
	}
	return "waits for the server"
}

// showActivity shows on a terminal that a command still works, until stop is called.
func showActivity(cmd *cobra.Command) (stop func()) {
	text := activityOf(cmd)
	if text == "" {
		return func() {}
	}
	return showProgress(cmd.ErrOrStderr(), func() string { return cmd.CommandPath() + ": " + text })
}

// showProgress is startProgress for a terminal. Elsewhere it does nothing: no user waits.
func showProgress(out io.Writer, line func() string) (stop func()) {
	if file, isFile := out.(*os.File); isFile && term.IsTerminal(int(file.Fd())) {
		return startProgress(out, line)
	}
	return func() {}
}

// startProgress prints a line about a command every two seconds, until stop is called. A command
// that ends earlier prints nothing. stop may be called once.
func startProgress(out io.Writer, line func() string) (stop func()) {
	ended, started := make(chan struct{}), time.Now()
	var running sync.WaitGroup
	running.Go(func() {
		ticker := time.NewTicker(progressInterval)
		defer ticker.Stop()
		for {
			select {
			case <-ended:
				return
			case now := <-ticker.C:
				fmt.Fprintf(out, "%s (%s)\n", line(), now.Sub(started).Round(time.Second))
			}
		}
	})
	return func() {
		close(ended)
		running.Wait()
	}
}

// countingWriter counts the bytes that are written through it.
type countingWriter struct {
	io.Writer
	written atomic.Int64
}

// Write implements io.Writer.
func (c *countingWriter) Write(data []byte) (int, error) {
	n, err := c.Writer.Write(data)
	c.written.Add(int64(n))
	return n, err
}

// megabytes returns what was written so far, for a line of progress.
func (c *countingWriter) megabytes() string {
	return fmt.Sprintf("%.1f MB", float64(c.written.Load())/1e6)
}
