package etcd

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"

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
// Later it ends the process.
func (l *log) OnWrite(entry *zapcore.CheckedEntry, fields []zapcore.Field) {
	cause := errors.New(entry.Message)
	for _, field := range fields {
		if err, ok := field.Interface.(error); ok {
			cause = fmt.Errorf("%w: %w", cause, err)
		}
	}
	if l.running.Load() {
		endProcess(cause)
	}
	select {
	case l.fatal <- cause:
	default:
	}
	runtime.Goexit()
}

// endProcess ends the process when etcd cannot continue. If the disk is the cause, one line of the
// log says what to do. Every acknowledged write is on disk already, so the next start continues
// with it.
func endProcess(cause error) {
	if advice := diskAdvice(cause); advice != "" {
		klog.ErrorS(cause, "etcd cannot write its data: "+advice+", then start the server again")
		klog.Flush()
		os.Exit(1)
	}
	panic(cause)
}

// diskAdvice returns what to do about an error of the disk, and nothing for another error.
func diskAdvice(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "free space on the disk"
	case errors.Is(err, syscall.EROFS):
		return "mount the file system for writing"
	case errors.Is(err, syscall.EIO):
		return "look for a broken disk in the log of the kernel"
	case errors.Is(err, fs.ErrPermission):
		return "give the user of the server the rights to the directory"
	}
	return ""
}

// startAdvice returns what to do if the data cannot be opened.
func startAdvice(err error) string {
	if advice := diskAdvice(err); advice != "" {
		return advice
	}
	return "if the data is damaged, restore a backup to a new directory with holdfast restore"
}
