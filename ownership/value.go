package ownership

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// missing is the value of a field that is not there.
type missing struct{}

var none any = missing{}

func isNone(v any) bool {
	_, ok := v.(missing)
	return ok || v == nil
}

// field is a member of a map that may be missing; null counts as missing.
func field(m map[string]any, name string) any {
	if v, ok := m[name]; ok && v != nil {
		return v
	}
	return none
}

// equal compares values as JSON does, so that 1 is 1.0.
func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k, v := range a {
			w, ok := b[k]
			if !ok || !equal(v, w) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case int64:
		switch b := b.(type) {
		case int64:
			return a == b
		case float64:
			return float64(a) == b
		}
		return false
	case float64:
		switch b := b.(type) {
		case int64:
			return a == float64(b)
		case float64:
			return a == b
		}
		return false
	case string:
		b, ok := b.(string)
		return ok && a == b
	case bool:
		b, ok := b.(bool)
		return ok && a == b
	case nil:
		return b == nil
	case missing:
		return isNone(b)
	}
	return false
}

// maxValue is how many runes of a value are shown.
const maxValue = 64

// brief is a value as compact JSON, cut, with everything escaped that does not
// print.
func brief(v any) string {
	if _, ok := v.(missing); ok {
		return "<none>"
	}
	w := &briefWriter{}
	w.value(v)
	text := w.b.String()
	if utf8.RuneCountInString(text) <= maxValue {
		return text
	}
	return string([]rune(text)[:maxValue]) + "…"
}

// briefWriter stops when there is more than can be shown.
type briefWriter struct{ b strings.Builder }

func (w *briefWriter) full() bool { return w.b.Len() > maxValue*utf8.UTFMax }

func (w *briefWriter) value(v any) {
	if w.full() {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		w.b.WriteByte('{')
		for i, k := range slices.Sorted(maps.Keys(v)) {
			if w.full() {
				return
			}
			if i > 0 {
				w.b.WriteByte(',')
			}
			w.quote(k)
			w.b.WriteByte(':')
			w.value(v[k])
		}
		w.b.WriteByte('}')
	case []any:
		w.b.WriteByte('[')
		for i, item := range v {
			if w.full() {
				return
			}
			if i > 0 {
				w.b.WriteByte(',')
			}
			w.value(item)
		}
		w.b.WriteByte(']')
	case string:
		w.quote(v)
	case int64:
		w.b.WriteString(strconv.FormatInt(v, 10))
	case float64:
		w.b.WriteString(strconv.FormatFloat(v, 'g', -1, 64))
	case bool:
		w.b.WriteString(strconv.FormatBool(v))
	default:
		w.b.WriteString("null")
	}
}

func (w *briefWriter) quote(s string) {
	w.b.WriteByte('"')
	for _, r := range s {
		if w.full() {
			return
		}
		switch {
		case r == '"' || r == '\\':
			w.b.WriteByte('\\')
			w.b.WriteRune(r)
		case r == '\n':
			w.b.WriteString(`\n`)
		case r == '\t':
			w.b.WriteString(`\t`)
		case r == '\r':
			w.b.WriteString(`\r`)
		case unicode.IsPrint(r):
			w.b.WriteRune(r)
		default:
			w.escape(r)
		}
	}
	w.b.WriteByte('"')
}

// escape writes a rune as JSON does, in two halves beyond the first plane.
func (w *briefWriter) escape(r rune) {
	const hex = "0123456789abcdef"
	unit := func(u rune) {
		w.b.WriteString(`\u`)
		for shift := 12; shift >= 0; shift -= 4 {
			w.b.WriteByte(hex[u>>shift&0xf])
		}
	}
	if r > 0xffff {
		r -= 0x10000
		unit(0xd800 + r>>10)
		unit(0xdc00 + r&0x3ff)
		return
	}
	unit(r)
}
