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

// logging is set up once: the logger of the Kubernetes libraries is one for the
// whole process, and must not be changed while a server uses it.
var logging sync.Once

// setLogging shows warnings and errors on stderr, and with a verbosity all
// that the libraries have to say at that level. Once ctx has ended nothing is
// shown: a watch that a shutdown cuts off is logged as an error by client-go
// and is none, and what is wrong with a shutdown is the command's error.
func setLogging(ctx context.Context, verbosity int) {
	logging.Do(func() {
		flags := flag.NewFlagSet("logging", flag.ContinueOnError)
		klog.InitFlags(flags)
		set := func(name, value string) {
			// The names and values are constants of this file.
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
		klog.SetOutputBySeverity("INFO", io.Discard)
		klog.SetOutputBySeverity("WARNING", untilDone{ctx, os.Stderr})
		klog.SetOutputBySeverity("ERROR", untilDone{ctx, os.Stderr})
		klog.SetOutputBySeverity("FATAL", io.Discard) // stderr has it already
		// What is wrong with a connection comes back as an error of the call.
		grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard))
	})
}

// untilDone writes until its context has ended.
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
