// Package demo holds the command "holdfast demo". It starts a server in a temporary directory and
// shows the five protections one after the other, and the form of a definition for other clusters: each
// command as a user types it, and what it prints. The commands run as processes of the same program, so the demo shows exactly what a
// user sees.
package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/internal/cli/arguments"
)

const help = `Start a server in a temporary directory and show the five protections, and how to
get the one of immutable fields on a cluster with kube-apiserver.

It prints each command as you would type it, with its answer. The commands and the
files that they read are real. At the end it removes the server and its directory. The
exit code is 1 if a command does not answer as it should.`

// New returns the command.
func New() *cobra.Command {
	var wait bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show the five protections on a temporary server",
		Long:  help,
		Args:  arguments.None,
		Example: `  # All of it, in some seconds
  holdfast demo

  # Wait for a key before each command
  holdfast demo --step`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			program, err := os.Executable()
			if err != nil {
				return fmt.Errorf("demo: %w", err)
			}
			screen := newScreen(cmd.OutOrStdout())
			if wait {
				screen.keys = cmd.InOrStdin()
			}
			return run(cmd.Context(), program, screen)
		},
	}
	cmd.Flags().BoolVar(&wait, "step", false, "wait for a key before each command")
	return cmd
}

// run runs the demo with the given executable of Holdfast.
func run(ctx context.Context, program string, screen *screen) (err error) {
	began := time.Now()
	s, err := newSession(program)
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	defer func() { err = errors.Join(err, s.close()) }()
	screen.text("A server starts in %s. It is removed at the end.", s.dir)
	if err := s.startServer(ctx); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	for i, chapter := range chapters() {
		screen.title(fmt.Sprintf("%d. %s", i+1, chapter.title))
		screen.text("%s", chapter.text)
		for _, step := range chapter.steps {
			if err := s.show(ctx, screen, step); err != nil {
				return fmt.Errorf("demo: %w", err)
			}
		}
	}
	screen.title(fmt.Sprintf("That was all, in %.0f seconds.", time.Since(began).Seconds()))
	screen.text("Start a server of your own with: holdfast serve")
	return nil
}

// show prints a command, runs it, and prints its answer.
func (s *session) show(ctx context.Context, screen *screen, step step) error {
	screen.command(step.line())
	if err := screen.wait(ctx); err != nil {
		return err
	}
	answer, err := s.run(ctx, step)
	screen.answer(answer)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// errRefused is the result of a command that the server refused.
var errRefused = errors.New("the command failed")

// check compares the result of a command with what the step expects.
func (st step) check(answer string, err error) error {
	switch {
	case err != nil && !errors.Is(err, errRefused):
		return fmt.Errorf("%s: %w", st.line(), err)
	case err != nil && !st.refused:
		return fmt.Errorf("%s failed: %s", st.line(), answer)
	case err == nil && st.refused:
		return fmt.Errorf("%s: the server accepted what it should refuse", st.line())
	}
	for _, want := range st.wants {
		if !strings.Contains(answer, want) {
			return fmt.Errorf("%s: the answer does not have %q: %s", st.line(), want, answer)
		}
	}
	return nil
}
