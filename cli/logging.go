package cli

import (
	"context"
	"flag"
	"io"
	"os"
	"strconv"
	"sync"

	"google.golang.org/grpc/grpclog"
	"k8s.io/klog/v2"
)

// logging makes configureLogging take effect once. The logger of the Kubernetes libraries is
// global to the process and must not be changed while a server uses it.
var logging sync.Once

// setLogging makes the libraries log warnings and errors to stderr, or everything up to a
// verbosity if it is positive. Without a verbosity, nothing is logged after ctx has ended:
// client-go logs watches that the shutdown interrupts as errors, which they are not. Real
// errors of the shutdown are returned by the command.
func setLogging(ctx context.Context, verbosity int) { configureLogging(ctx, verbosity, io.Discard) }

// setAgentLogging is like setLogging, and shows information as well: the agent logs one line
// for each change of a volume.
func setAgentLogging(ctx context.Context, verbosity int) {
	configureLogging(ctx, verbosity, untilDone{ctx, os.Stderr})
}

// configureLogging sets up logging once. info gets the messages that are neither warnings nor
// errors, if there is no verbosity.
func configureLogging(ctx context.Context, verbosity int, info io.Writer) {
	logging.Do(func() {
		flags := flag.NewFlagSet("logging", flag.ContinueOnError)
		klog.InitFlags(flags)
		set := func(name, value string) {
			// This cannot fail: all names and values below are valid.
			if err := flags.Set(name, value); err != nil {
				panic(err)
			}
		}
		if verbosity > 0 {
			set("v", strconv.Itoa(verbosity))
			return
		}
		set("logtostderr", "false")
		set("one_output", "true")
		set("stderrthreshold", "FATAL")
		klog.SetOutputBySeverity("INFO", info)
		klog.SetOutputBySeverity("WARNING", untilDone{ctx, os.Stderr})
		klog.SetOutputBySeverity("ERROR", untilDone{ctx, os.Stderr})
		// Fatal messages go to stderr by stderrthreshold.
		klog.SetOutputBySeverity("FATAL", io.Discard)
		// Errors of a gRPC connection are returned by the calls that use it.
		grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard))
	})
}

// untilDone is a writer that discards everything after its context has ended.
type untilDone struct {
	ctx context.Context
	out io.Writer
}

// Write implements io.Writer.
func (w untilDone) Write(data []byte) (int, error) {
	select {
	case <-w.ctx.Done():
		return len(data), nil
	default:
		return w.out.Write(data)
	}
}
