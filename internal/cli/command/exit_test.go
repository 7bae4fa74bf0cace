package command_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/cli/command"
)

// TestCode checks the exit code of every kind of error, of a command that only reads and of one that writes.
func TestCode(t *testing.T) {
	t.Parallel()
	reads, writes := &cobra.Command{}, &cobra.Command{}
	var dryRun command.DryRun
	dryRun.AddFlag(writes.Flags())
	in := schema.GroupResource{Resource: "widgets"}
	tests := map[string]struct {
		err           error
		reads, writes int
	}{
		"none":              {nil, command.ExitDone, command.ExitDone},
		"unknown":           {errors.New("x"), command.ExitUnable, command.ExitUnable},
		"refused":           {fmt.Errorf("more: %w", command.Refused(errors.New("x"))), command.ExitRefused, command.ExitRefused},
		"refused and read":  {command.Unable(command.Refused(errors.New("x"))), command.ExitRefused, command.ExitRefused},
		"unable":            {command.Unable(apierrors.NewForbidden(in, "a", nil)), command.ExitUnable, command.ExitUnable},
		"interrupted":       {command.Interrupted(errors.New("x")), command.ExitInterrupted, command.ExitInterrupted},
		"forbidden":         {apierrors.NewForbidden(in, "a", nil), command.ExitUnable, command.ExitRefused},
		"conflict":          {apierrors.NewConflict(in, "a", nil), command.ExitUnable, command.ExitRefused},
		"not found":         {apierrors.NewNotFound(in, "a"), command.ExitUnable, command.ExitUnable},
		"unauthorized":      {apierrors.NewUnauthorized("x"), command.ExitUnable, command.ExitUnable},
		"too many requests": {apierrors.NewTooManyRequests("x", 1), command.ExitUnable, command.ExitUnable},
		"internal error":    {apierrors.NewInternalError(errors.New("x")), command.ExitUnable, command.ExitUnable},
	}
	for name, test := range tests {
		if got := command.Code(reads, test.err); got != test.reads {
			t.Errorf("%s: a command that reads exits with %d, want %d", name, got, test.reads)
		}
		if got := command.Code(writes, test.err); got != test.writes {
			t.Errorf("%s: a command that writes exits with %d, want %d", name, got, test.writes)
		}
	}
}

// TestDryRun checks the values of --dry-run.
func TestDryRun(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]command.DryRun{
		"": command.DryRunNone, "--dry-run": command.DryRunServer, "--dry-run=client": command.DryRunClient, "--dry-run=none": command.DryRunNone,
	} {
		got, err := parsed(line)
		if err != nil || got != want {
			t.Errorf("%q: %q, %v", line, got, err)
		}
	}
	if _, err := parsed("--dry-run=true"); err == nil {
		t.Error("--dry-run=true: no error")
	}
}

func parsed(line string) (command.DryRun, error) {
	var d command.DryRun
	cmd := &cobra.Command{}
	d.AddFlag(cmd.Flags())
	if line == "" {
		return d, nil
	}
	return d, cmd.Flags().Parse([]string{line})
}
