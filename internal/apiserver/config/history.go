package config

import "fmt"

// History bounds the history of objects.
type History struct {
	// Entries and Bytes bound the history of one object. The defaults are 100 entries and 64 KB.
	Entries, Bytes int
}

const (
	defaultHistoryEntries = 100
	defaultHistoryBytes   = 64 << 10
	// lowHistoryBytes leaves room for entries: an entry has a quarter of the bytes at most.
	lowHistoryBytes  = 4 << 10
	highHistoryBytes = 1 << 20
)

// complete sets the defaults and validates the bounds.
func (h *History) complete() error {
	if h.Entries == 0 {
		h.Entries = defaultHistoryEntries
	}
	if h.Bytes == 0 {
		h.Bytes = defaultHistoryBytes
	}
	if h.Entries < 1 || h.Entries > 10_000 {
		return fmt.Errorf("history entries %d: must be between 1 and 10000", h.Entries)
	}
	if h.Bytes < lowHistoryBytes || h.Bytes > highHistoryBytes {
		return fmt.Errorf("history bytes %d: must be between %d and %d", h.Bytes, lowHistoryBytes, highHistoryBytes)
	}
	return nil
}
