package etcd

import (
	"errors"
	"os"
	"runtime"
	"sync/atomic"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// log is where etcd's messages go: errors to stderr once it has started, and
// what would end the process while it starts to the one who waits for it.
type log struct {
	zapcore.Core
	running atomic.Bool
	fatal   chan error
}

func newLog() *log {
	encoder := zapcore.NewConsoleEncoder(zap.NewProductionEncoderConfig())
	return &log{
		Core:  zapcore.NewCore(encoder, zapcore.Lock(os.Stderr), zapcore.ErrorLevel),
		fatal: make(chan error, 1),
	}
}

func (l *log) logger() *zap.Logger {
	return zap.New(l, zap.WithFatalHook(l), zap.WithPanicHook(l))
}

func (l *log) started() { l.running.Store(true) }

// Check implements zapcore.Core. While etcd starts, its errors come back from
// Start; and every first start logs that the version of a store is not found
// whose first write is still on its way.
func (l *log) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if !l.running.Load() || entry.Message == "failed to update storage version" {
		return checked
	}
	return l.Core.Check(entry, checked)
}

// OnWrite implements zapcore.CheckWriteHook for messages after which etcd
// cannot go on. A start is answered with the message, from whichever goroutine
// it comes; later there is nobody to answer.
func (l *log) OnWrite(entry *zapcore.CheckedEntry, fields []zapcore.Field) {
	message := entry.Message
	for _, field := range fields {
		if err, ok := field.Interface.(error); ok {
			message += ": " + err.Error()
		}
	}
	if l.running.Load() {
		panic(errors.New(message))
	}
	select {
	case l.fatal <- errors.New(message):
	default:
	}
	runtime.Goexit()
}
