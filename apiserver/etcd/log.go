package etcd

import (
	"errors"
	"maps"
	"runtime"
	"slices"
	"sync/atomic"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"
)

// log receives the messages of etcd. After the start it writes errors to the log of the process.
// During the start it sends a message that would end the process to the channel fatal, where open
// waits for it.
type log struct {
	zapcore.Core
	running atomic.Bool
	fatal   chan error
}

func newLog() *log {
	return &log{Core: errorLog{LevelEnabler: zapcore.ErrorLevel}, fatal: make(chan error, 1)}
}

// errorLog writes errors to the log of the process, in its format.
type errorLog struct {
	zapcore.LevelEnabler
	fields []zapcore.Field
}

// With implements zapcore.Core.
func (e errorLog) With(fields []zapcore.Field) zapcore.Core {
	return errorLog{e.LevelEnabler, slices.Concat(e.fields, fields)}
}

// Check implements zapcore.Core.
func (e errorLog) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if e.Enabled(entry.Level) {
		return checked.AddCore(entry, e)
	}
	return checked
}

// Write implements zapcore.Core.
func (e errorLog) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	encoder := zapcore.NewMapObjectEncoder()
	for _, field := range slices.Concat(e.fields, fields) {
		field.AddTo(encoder)
	}
	pairs := []any{"component", "etcd"}
	for _, key := range slices.Sorted(maps.Keys(encoder.Fields)) {
		pairs = append(pairs, key, encoder.Fields[key])
	}
	klog.ErrorS(nil, entry.Message, pairs...)
	return nil
}

// Sync implements zapcore.Core.
func (errorLog) Sync() error { return nil }

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
