package fieldhistory

import "encoding/json"

// Bounds bound the history of one object.
type Bounds struct {
	// Entries is the largest number of entries.
	Entries int
	// Bytes is the largest sum of the sizes of the encoded entries.
	Bytes int
}

// maxValue is the largest size of a value that history keeps.
const maxValue = 8 << 10

// Encode encodes an entry, with the changes between two contents. An entry has at most a quarter of the bytes of a history. If it would
// have more, it keeps only smaller values, and at last no changes.
func (b Bounds) Encode(entry Entry, before, after map[string]any, options Options) ([]byte, error) {
	options.Most = b.Bytes / 4
	for _, limit := range []int{maxValue, maxValue / 16, 0} {
		var ok bool
		options.Limit = limit
		if entry.Changes, ok = diff(before, after, options); !ok {
			continue
		}
		text, err := json.Marshal(entry)
		if err != nil || len(text) <= b.Bytes/4 {
			return text, err
		}
	}
	entry.Changes, entry.Truncated = nil, true
	return json.Marshal(entry)
}

// Surplus returns how many of the oldest entries must go, by the sizes of all, the oldest first. If a bound is exceeded, an eighth of it
// becomes free, so that the next writes need not remove entries. The newest entry always stays: it has the number of the next one.
func (b Bounds) Surplus(sizes []int32) int {
	entries, bytes := len(sizes), 0
	for _, size := range sizes {
		bytes += int(size)
	}
	if entries <= b.Entries && bytes <= b.Bytes {
		return 0
	}
	gone := 0
	for gone < entries-1 && (entries-gone > b.Entries-b.Entries/8 || bytes > b.Bytes-b.Bytes/8) {
		bytes -= int(sizes[gone])
		gone++
	}
	return gone
}
