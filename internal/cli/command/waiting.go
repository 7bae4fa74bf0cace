package command

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/pflag"
)

// Waiting is the flags --wait and --timeout.
type Waiting struct {
	Wait bool
	// Timeout is how long to wait. Zero is without end.
	Timeout time.Duration
}

// defaultTimeout is the default of --timeout.
const defaultTimeout = 5 * time.Minute

// AddFlags adds both flags. until says in the help how long the command waits with --wait.
func (w *Waiting) AddFlags(flags *pflag.FlagSet, until string) {
	flags.BoolVar(&w.Wait, "wait", false, "wait until "+until)
	w.AddTimeoutFlag(flags)
}

// AddTimeoutFlag adds the flag --timeout of a command that always waits.
func (w *Waiting) AddTimeoutFlag(flags *pflag.FlagSet) {
	w.Timeout = defaultTimeout
	flags.Var((*timeout)(&w.Timeout), "timeout", "how long to wait; 0 is without end")
}

// Limit returns a context that ends with the timeout.
func (w *Waiting) Limit(ctx context.Context) (context.Context, context.CancelFunc) {
	if w.Timeout > 0 {
		return context.WithTimeout(ctx, w.Timeout)
	}
	return context.WithCancel(ctx)
}

// timeout is a duration that is not negative.
type timeout time.Duration

// String implements pflag.Value.
func (t *timeout) String() string { return time.Duration(*t).String() }

// Set implements pflag.Value.
func (t *timeout) Set(text string) error {
	parsed, err := time.ParseDuration(text)
	if err == nil && parsed < 0 {
		err = fmt.Errorf("must not be negative")
	}
	*t = timeout(parsed)
	return err
}

// Type implements pflag.Value.
func (*timeout) Type() string { return "duration" }
