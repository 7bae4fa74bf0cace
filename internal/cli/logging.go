package cli

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"google.golang.org/grpc/grpclog"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/cli/command"
)

// logging makes logSettings.use take effect once. The logger of the Kubernetes libraries is
// global to the process and must not be changed while a server uses it.
var logging sync.Once

// The values of --log-format.
const (
	logText = "text"
	logJSON = "json"
)

// logSettings are the flags of a command that logs.
type logSettings struct {
	verbosity int
	// format is empty if the user has not chosen one. The log is text then, and has no
	// information about the life of the process.
	format string
	// info makes the log have information, without a format or a verbosity.
	info bool
	// out gets the records about the life of the process.
	out io.Writer
}

// addFlag adds --log-format.
func (l *logSettings) addFlag(flags *pflag.FlagSet) {
	flags.StringVar(&l.format, "log-format", "", "format of the log on stderr, text or json; with it, the log also has the start, the stop and other "+
		"information (default: text with warnings and errors)")
}

// setLogging makes the program log warnings and errors to stderr, with verbosity 1 also the information of this program, and with more
// everything that the libraries log up to that verbosity.
func setLogging(ctx context.Context, verbosity int) {
	// This cannot fail: the format is empty.
	_, _ = logSettings{verbosity: max(0, verbosity-1), info: verbosity > 0, out: os.Stderr}.use(ctx)
}

// use sets up the log of the process, and returns a logger for the life of the process itself.
// The log of the libraries ends with ctx, unless there is a verbosity: client-go logs watches that
// the shutdown interrupts as errors, which they are not. Real errors of the shutdown are
// returned by the command.
func (l logSettings) use(ctx context.Context) (*slog.Logger, error) {
	if l.format != "" && l.format != logText && l.format != logJSON {
		return nil, fmt.Errorf("--log-format %q: must be text or json", l.format)
	}
	logging.Do(func() {
		flags := flag.NewFlagSet("logging", flag.ContinueOnError)
		klog.InitFlags(flags)
		if err := flags.Set("v", strconv.Itoa(l.verbosity)); err != nil {
			panic(err) // The name and the value are valid.
		}
		libraries := l.handler(os.Stderr)
		if l.verbosity == 0 {
			libraries = essential{ctx, libraries, &repeated{}}
		}
		// Some libraries, such as the HTTP server, log with the package log.
		log.SetFlags(0)
		log.SetOutput(plainLines{libraries})
		klog.SetLoggerWithOptions(logr.FromSlogHandler(libraries), klog.ContextualLogger(true),
			klog.WriteKlogBuffer(klogLines{libraries}.write))
		// Errors of a gRPC connection are returned by the calls that use it.
		grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard))
	})
	return slog.New(l.handler(l.out)), nil
}

// handler returns a handler that formats the log.
func (l logSettings) handler(out io.Writer) slog.Handler {
	level := slog.LevelWarn
	switch {
	case l.verbosity > 0:
		// logr turns verbosity 2 into level -2.
		level = slog.Level(-l.verbosity)
	case l.info || l.format != "":
		level = slog.LevelInfo
	}
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, attr slog.Attr) slog.Attr {
		// Levels between information and debugging have no name of their own.
		if of, ok := attr.Value.Any().(slog.Level); ok && attr.Key == slog.LevelKey && of < slog.LevelInfo {
			return slog.String(slog.LevelKey, slog.LevelDebug.String())
		}
		return attr
	}}
	if l.format == logJSON {
		return slog.NewJSONHandler(out, options)
	}
	return slog.NewTextHandler(out, options)
}

// klogLines turns the lines of klog's unstructured functions into records. klog itself would
// turn warnings into information.
type klogLines struct{ handler slog.Handler }

// write handles a line such as "W1116 19:07:35.000000   4711 reflector.go:12] message".
func (k klogLines) write(line []byte) {
	level := slog.LevelInfo
	switch {
	case bytes.HasPrefix(line, []byte("W")):
		level = slog.LevelWarn
	case bytes.HasPrefix(line, []byte("E")), bytes.HasPrefix(line, []byte("F")):
		level = slog.LevelError
	}
	if _, message, found := bytes.Cut(line, []byte("] ")); found {
		line = message
	}
	// Only libraries use these functions, so the record has no place in our code.
	record := slog.NewRecord(time.Now(), level, string(bytes.TrimRight(line, "\n")), 0)
	if ctx := context.Background(); k.handler.Enabled(ctx, level) {
		_ = k.handler.Handle(ctx, record)
	}
}

// plainLines turns the lines of the package log into records.
type plainLines struct{ handler slog.Handler }

// Write implements io.Writer.
func (p plainLines) Write(line []byte) (int, error) {
	record := slog.NewRecord(time.Now(), slog.LevelWarn, string(bytes.TrimRight(line, "\n")), 0)
	return len(line), p.handler.Handle(context.Background(), record)
}

// announce prints a line for the user. If the log is JSON, the line is a record of the log, with this level.
func (l logSettings) announce(out io.Writer, level slog.Level, line string) {
	if l.format != logJSON {
		_, _ = fmt.Fprintln(out, program+": "+line)
		return
	}
	slog.New(l.handler(out)).Log(context.Background(), level, line)
}

// formatOf returns the format of the log on a command line that may be wrong.
func formatOf(args []string) string {
	for i, arg := range args {
		name, value, hasValue := strings.Cut(arg, "=")
		if !hasValue && i+1 < len(args) {
			value = args[i+1]
		}
		if value == logJSON && (name == "--log-format" || name == "--logging-format") {
			return logJSON
		}
	}
	return ""
}

// essential is a handler that drops the information of the libraries, such as each cache that
// they fill, lines that repeat too often, and everything after its context has ended.
type essential struct {
	ctx context.Context
	slog.Handler
	*repeated
}

// Handle implements slog.Handler. logr passes errors to it without a call of Enabled.
func (e essential) Handle(ctx context.Context, record slog.Record) error {
	select {
	case <-e.ctx.Done():
		return nil
	default:
	}
	if record.Level < slog.LevelWarn && !isOwn(record.PC) {
		return nil
	}
	return e.handle(ctx, e.Handler, record)
}

// WithAttrs implements slog.Handler.
func (e essential) WithAttrs(attrs []slog.Attr) slog.Handler {
	return essential{e.ctx, e.Handler.WithAttrs(attrs), e.repeated}
}

// WithGroup implements slog.Handler.
func (e essential) WithGroup(name string) slog.Handler {
	return essential{e.ctx, e.Handler.WithGroup(name), e.repeated}
}

// isOwn reports whether the code of this module wrote a record.
func isOwn(pc uintptr) bool {
	frame, _ := runtime.CallersFrames([]uintptr{pc}).Next()
	return strings.HasPrefix(frame.Function, "holdfast.dev/holdfast/")
}

// lifecycle logs the start and the end of a process with a format, and returns the error that
// the command ends with. An error is logged instead of printed, so that every line of the log has
// the chosen format.
func (l logSettings) lifecycle(logger *slog.Logger, what string, run func() error) error {
	if l.format == "" {
		return run()
	}
	logger.Info(what+" starts", "version", version)
	err := run()
	if err != nil && !errors.Is(err, context.Canceled) {
		logger.Error(what+" ends with an error", "err", err)
		return command.Exit(command.ExitUnable)
	}
	logger.Info(what + " ends")
	return nil
}
