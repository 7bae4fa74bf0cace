package config

import (
	"fmt"
	"time"
)

// History bounds the history of objects.
type History struct {
	// Entries and Bytes bound the history of one object. The defaults are 100 entries and 64 KB.
	Entries, Bytes int
	// TotalBytes bounds the history of all objects. The default is 256 MB.
	TotalBytes int64
	// AfterDelete is how long the history of a deleted object is kept. With zero it goes with the object.
	AfterDelete time.Duration
}

// The defaults of History.
const (
	DefaultHistoryEntries    = 100
	DefaultHistoryBytes      = 64 << 10
	DefaultHistoryTotalBytes = 256 << 20
)

const (
	highHistoryEntries = 10_000
	// lowHistoryBytes leaves room for entries: an entry has a quarter of the bytes at most.
	lowHistoryBytes  = 4 << 10
	highHistoryBytes = 1 << 20
)

// complete sets the defaults and validates the bounds.
func (h *History) complete() error {
	if h.Entries == 0 {
		h.Entries = DefaultHistoryEntries
	}
	if h.Bytes == 0 {
		h.Bytes = DefaultHistoryBytes
	}
	if h.TotalBytes == 0 {
		h.TotalBytes = DefaultHistoryTotalBytes
	}
	switch {
	case h.Entries < 1 || h.Entries > highHistoryEntries:
		return fmt.Errorf("history entries %d: must be between 1 and %d", h.Entries, highHistoryEntries)
	case h.Bytes < lowHistoryBytes || h.Bytes > highHistoryBytes:
		return fmt.Errorf("history bytes %d: must be between %d and %d", h.Bytes, lowHistoryBytes, highHistoryBytes)
	case h.TotalBytes < int64(h.Bytes):
		return fmt.Errorf("history total bytes %d: must be at least the history bytes of one object, %d", h.TotalBytes, h.Bytes)
	case h.AfterDelete < 0:
		return fmt.Errorf("history after delete %v: must not be negative", h.AfterDelete)
	}
	return nil
}
