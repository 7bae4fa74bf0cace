package etcd

import (
	"errors"
	"os"
	"runtime"
	"sync/atomic"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// log receives the messages of etcd. After the start it writes errors to stderr. During the
// start it sends a message that would end the process to the channel fatal, where open
// waits for it.
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

// Check implements zapcore.Core. It drops the errors during the start, because Start returns
// them. It also drops a message that every first start logs: the storage version is not
// found before its first write.
func (l *log) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if !l.running.Load() || entry.Message == "failed to update storage version" {
		return checked
	}
	return l.Core.Check(entry, checked)
}

// OnWrite implements zapcore.CheckWriteHook for messages after which etcd cannot continue.
// During the start it sends the message to open, and ends the goroutine that logged it.
// Later it panics.
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
