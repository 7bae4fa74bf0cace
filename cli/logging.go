package cli

import (
	"context"
	"flag"
	"io"
	"strconv"

	"google.golang.org/grpc/grpclog"
	"k8s.io/klog/v2"
)

// setLogging shows warnings and errors on stderr, and with a verbosity all
// that the libraries have to say at that level. Once ctx has ended only what
// is fatal is shown: a watch that a shutdown cuts off is logged as an error by
// client-go and is none.
func setLogging(ctx context.Context, verbosity int) {
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
	set("stderrthreshold", "WARNING")
	klog.SetOutput(io.Discard)
	context.AfterFunc(ctx, func() { set("stderrthreshold", "FATAL") })
	// What is wrong with a connection comes back as an error of the call.
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard))
}
