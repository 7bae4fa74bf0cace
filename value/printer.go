package value

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// defaultLimit is the limit of a Printer with Limit 0.
const defaultLimit = 80

// Printer writes the short form of values: compact JSON, cut where it is long.
// The zero Printer is ready for use.
type Printer struct {
	// Limit is the maximum number of characters; a longer text is cut. 0 means 80.
	Limit int
	// LiteralHTML writes <, > and & as they are. Otherwise they are escaped, as
	// JSON encoding in Go does.
	LiteralHTML bool
}

// Print returns the short form of v. Characters that do not print are escaped.
// An absent value is <none>. It reads no more of v than it shows, so that a
// message about a large value is cheap.
func (p Printer) Print(v any) string {
	if p.Limit == 0 {
		p.Limit = defaultLimit
	}
	if _, absent := v.(Absent); absent {
		return "<none>"
	}
	w := &printing{Printer: p}
	w.value(v)
	return Cut(w.text.String(), p.Limit)
}

// Cut returns the first limit characters of a text and an ellipsis, or the whole
// text if it is no longer than that.
func Cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	characters := 0
	for i := range text {
		if characters == limit {
			return strings.ToValidUTF8(text[:i], "") + "…"
		}
		characters++
	}
	return text
}

// CutBytes is Cut with a limit in bytes. No character is cut in two.
func CutBytes(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}

// printing is the state of one call of Print.
type printing struct {
	Printer
	text strings.Builder
}

// full reports whether there is more text than will be shown.
func (w *printing) full() bool { return w.text.Len() > w.Limit*utf8.UTFMax }

func (w *printing) value(v any) {
	if w.full() {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		w.object(v)
	case []any:
		w.text.WriteByte('[')
		for i, child := range v {
			if w.full() {
				return
			}
			if i > 0 {
				w.text.WriteByte(',')
			}
			w.value(child)
		}
		w.text.WriteByte(']')
	case string:
		w.quote(v)
	case int64:
		w.text.WriteString(strconv.FormatInt(v, 10))
	case bool:
		w.text.WriteString(strconv.FormatBool(v))
	case nil, Absent:
		w.text.WriteString("null")
	case float64:
		if n := floatNumber(v); n.kind == integer {
			w.text.WriteString(strconv.FormatInt(n.small, 10))
			return
		}
		w.other(v)
	default:
		w.other(v)
	}
}

func (w *printing) object(v map[string]any) {
	w.text.WriteByte('{')
	for i, name := range slices.Sorted(maps.Keys(v)) {
		if w.full() {
			return
		}
		if i > 0 {
			w.text.WriteByte(',')
		}
		w.quote(name)
		w.text.WriteByte(':')
		w.value(v[name])
	}
	w.text.WriteByte('}')
}

// other writes a value as JSON encoding in Go does, or a question mark for a value
// that JSON cannot hold, such as NaN.
func (w *printing) other(v any) {
	text, err := json.Marshal(v)
	if err != nil {
		text = []byte("?")
	}
	w.text.Write(text)
}

func (w *printing) quote(s string) {
	w.text.Grow(min(len(s), w.Limit) + len(`""`))
	w.text.WriteByte('"')
	for _, r := range s {
		if w.full() {
			return
		}
		w.character(r)
	}
	w.text.WriteByte('"')
}

func (w *printing) character(r rune) {
	switch {
	case r == '"' || r == '\\':
		w.text.WriteByte('\\')
		w.text.WriteRune(r)
	case r == '\n':
		w.text.WriteString(`\n`)
	case r == '\t':
		w.text.WriteString(`\t`)
	case r == '\r':
		w.text.WriteString(`\r`)
	case !w.LiteralHTML && (r == '<' || r == '>' || r == '&'):
		w.escape(r)
	case unicode.IsPrint(r):
		w.text.WriteRune(r)
	default:
		w.escape(r)
	}
}

// escape writes the JSON escape of a character. A character above U+FFFF becomes a
// surrogate pair.
func (w *printing) escape(r rune) {
	if r > 0xffff {
		r -= 0x10000
		w.unit(0xd800 + r>>10)
		w.unit(0xdc00 + r&0x3ff)
		return
	}
	w.unit(r)
}

func (w *printing) unit(u rune) {
	const hex = "0123456789abcdef"
	w.text.WriteString(`\u`)
	for shift := 12; shift >= 0; shift -= 4 {
		w.text.WriteByte(hex[u>>shift&0xf])
	}
}
