package immutability

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// maxBrief is how much of a value a message shows.
const maxBrief = 80

// brief is v as JSON, cut after maxBrief bytes. It reads no more of v than it
// shows, so that a message about a large value is cheap.
func brief(v any) string {
	b := &briefWriter{}
	b.value(v)
	if b.Len() <= maxBrief {
		return b.String()
	}
	return strings.ToValidUTF8(b.String()[:maxBrief], "") + "…"
}

type briefWriter struct{ strings.Builder }

func (b *briefWriter) full() bool { return b.Len() > maxBrief }

func (b *briefWriter) value(v any) {
	switch v := v.(type) {
	case absent:
		b.WriteString("nothing")
	case map[string]any:
		b.object(v)
	case []any:
		b.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			if b.full() {
				return
			}
			b.value(item)
		}
		b.WriteByte(']')
	case string:
		b.scalar(v[:min(len(v), maxBrief+1)])
	default:
		b.scalar(v)
	}
}

func (b *briefWriter) object(v map[string]any) {
	b.WriteByte('{')
	for i, key := range slices.Sorted(maps.Keys(v)) {
		if i > 0 {
			b.WriteByte(',')
		}
		if b.full() {
			return
		}
		b.value(key)
		b.WriteByte(':')
		b.value(v[key])
	}
	b.WriteByte('}')
}

func (b *briefWriter) scalar(v any) {
	text, err := json.Marshal(v)
	if err != nil {
		// Only values that JSON cannot hold, NaN among them, come here.
		b.WriteString("?")
		return
	}
	b.Write(text)
}
