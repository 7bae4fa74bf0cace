package schema

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"golang.org/x/term"

	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/manifest"
)

// maxFile is the size of the largest file that a command reads. etcd does not store larger
// objects, but a file may have many.
const maxFile = 512 << 20

// gcPercent is the garbage collection target while files are judged.
const gcPercent = 400

// judge judges one file.
type judge[T any] func(ctx context.Context, input manifest.Input, data []byte) (T, error)

// each reads the inputs and judges them on all processors. The results have the order of the
// inputs. On a terminal it shows its progress.
func each[T any](cmd *cobra.Command, inputs []manifest.Input, judge judge[T]) ([]T, error) {
	// Most of the memory of a file is garbage when the file is done. Collecting it less
	// often saves a fourth of the time.
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	results := make([]T, len(inputs))
	group, ctx := errgroup.WithContext(cmd.Context())
	group.SetLimit(runtime.GOMAXPROCS(0))
	var done atomic.Int64
	defer showProgress(cmd.ErrOrStderr(), func() string { return fmt.Sprintf("%d of %d files", done.Load(), len(inputs)) })()
	for i, input := range inputs {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			data, err := read(cmd, input.Name)
			if err != nil {
				return err
			}
			results[i], err = judge(ctx, input, data)
			done.Add(1)
			return err
		})
	}
	err := group.Wait()
	if cmd.Context().Err() != nil {
		return nil, command.Interrupted(errors.New("interrupted"))
	}
	return results, err
}

// onlyStdin returns an error if arguments name stdin more than once. It can be read only once.
func onlyStdin(lists ...[]string) error {
	count := 0
	for _, args := range lists {
		for _, arg := range args {
			if arg == manifest.Stdin {
				count++
			}
		}
	}
	if count > 1 {
		return errors.New("stdin can be read only once: name - once, and files otherwise")
	}
	return nil
}

// read reads a file or stdin.
func read(cmd *cobra.Command, name string) ([]byte, error) {
	if name != manifest.Stdin {
		info, err := os.Stat(name)
		switch {
		case err != nil:
			return nil, err
		case info.Size() > maxFile:
			return nil, fmt.Errorf("%s: is larger than %d MiB", name, maxFile>>20)
		}
		return os.ReadFile(name)
	}
	data, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("stdin: is larger than %d MiB", maxFile>>20)
	}
	return data, err
}

// displayName returns the name of a file in messages.
func displayName(input manifest.Input) string {
	if input.Name == manifest.Stdin {
		return "stdin"
	}
	return input.Name
}

const (
	// progressDelay is the time after which a command shows its progress.
	progressDelay = 500 * time.Millisecond
	// progressInterval is the time between two updates.
	progressInterval = 100 * time.Millisecond
)

// showProgress shows a line on a terminal that says how far a command is. The returned function removes the
// line. If out is no terminal, nothing is shown.
func showProgress(out io.Writer, line func() string) (stop func()) {
	file, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return func() {}
	}
	return drawProgress(out, line)
}

// drawProgress draws the line until the returned function is called.
func drawProgress(out io.Writer, line func() string) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		drawn := false
		for next := time.NewTimer(progressDelay); ; next.Reset(progressInterval) {
			select {
			case <-next.C:
				drawn = true
				fmt.Fprintf(out, "\r\033[K%s", line())
			case <-ctx.Done():
				if drawn {
					fmt.Fprint(out, "\r\033[K")
				}
				return
			}
		}
	}()
	return func() {
		cancel()
		<-finished
	}
}
