package text

import (
	"encoding/json"
	"io"
	"math"
	"slices"
	"strconv"
	"sync"
)

// maxPooled is the largest buffer that goes back to the pool.
const maxPooled = 256 << 10

// Known has the texts of sets of fields in managedFields. No code may change a set or a text.
type Known interface {
	// TextOf returns the text of a set, nil if it is not known.
	TextOf(fields map[string]any) []byte
	// Find returns the set with a text, nil if it is not known.
	Find(text []byte) map[string]any
}

// JSON is the quick form of a Format. The zero value is ready to use. It must not be copied.
type JSON struct {
	// Known has sets of fields and their texts. It is optional.
	Known Known

	readers, writers sync.Pool
}

// Decode implements Format.
func (j *JSON) Decode(data []byte) (map[string]any, error) {
	if obj, ok := j.read(data); ok {
		return obj, nil
	}
	return Library{}.Decode(data)
}

// DecodeStrict implements Format.
func (j *JSON) DecodeStrict(data []byte) (obj map[string]any, duplicates []error, err error) {
	if obj, ok := j.read(data); ok {
		return obj, nil, nil
	}
	return Library{}.DecodeStrict(data)
}

// read decodes an object with a reader from the pool. It returns false if the reader gave up.
func (j *JSON) read(data []byte) (map[string]any, bool) {
	in, ok := j.readers.Get().(*reader)
	if !ok {
		in = &reader{known: j.Known}
	}
	defer j.readers.Put(in)
	return in.read(data)
}

// Encode implements Format.
func (j *JSON) Encode(w io.Writer, obj map[string]any) error {
	out := j.writer()
	defer j.release(out)
	if err := out.object(obj); err != nil {
		return err
	}
	out.data = append(out.data, '\n')
	_, err := w.Write(out.data)
	return err
}

// Append implements Format.
func (j *JSON) Append(to []byte, value any) ([]byte, error) {
	out := j.writer()
	own := out.data
	out.data = to
	err := out.value(value)
	to, out.data = out.data, own
	j.release(out)
	return to, err
}

// writer returns an empty writer from the pool.
func (j *JSON) writer() *writer {
	out, ok := j.writers.Get().(*writer)
	if !ok {
		out = &writer{known: j.Known}
	}
	return out
}

// release puts a writer back into the pool.
func (j *JSON) release(out *writer) {
	if cap(out.data) <= maxPooled {
		out.data, out.keys = out.data[:0], out.keys[:0]
		j.writers.Put(out)
	}
}

// writer encodes one object.
type writer struct {
	data []byte
	// keys is a stack. It holds the sorted keys of each object that is not completely
	// written yet, the innermost object last.
	keys []string
	// known is that of JSON.
	known Known
}

func (w *writer) value(v any) error {
	switch v := v.(type) {
	case nil:
		w.data = append(w.data, "null"...)
	case bool:
		w.data = strconv.AppendBool(w.data, v)
	case int64:
		w.data = strconv.AppendInt(w.data, v, 10)
	case float64:
		return w.float(v)
	case string:
		return w.string(v)
	case []any:
		return w.list(v)
	case map[string]any:
		return w.object(v)
	default:
		return w.other(v)
	}
	return nil
}

func (w *writer) list(items []any) error {
	if items == nil {
		w.data = append(w.data, "null"...)
		return nil
	}
	w.data = append(w.data, '[')
	for i, item := range items {
		if i > 0 {
			w.data = append(w.data, ',')
		}
		if err := w.value(item); err != nil {
			return err
		}
	}
	w.data = append(w.data, ']')
	return nil
}

func (w *writer) object(obj map[string]any) error {
	if obj == nil {
		w.data = append(w.data, "null"...)
		return nil
	}
	from := len(w.keys)
	for key := range obj {
		w.keys = append(w.keys, key)
	}
	to := len(w.keys)
	slices.Sort(w.keys[from:to])
	w.data = append(w.data, '{')
	for i := from; i < to; i++ {
		if i > from {
			w.data = append(w.data, ',')
		}
		key := w.keys[i]
		if err := w.string(key); err != nil {
			return err
		}
		w.data = append(w.data, ':')
		if w.isKnown(key, obj[key]) {
			continue
		}
		if err := w.value(obj[key]); err != nil {
			return err
		}
	}
	w.data = append(w.data, '}')
	w.keys = w.keys[:from]
	return nil
}

// isKnown writes the text of a value if the caller has it, and reports whether it did.
func (w *writer) isKnown(key string, value any) bool {
	if w.known == nil || key != "fieldsV1" {
		return false
	}
	fields, ok := value.(map[string]any)
	if !ok {
		return false
	}
	text := w.known.TextOf(fields)
	w.data = append(w.data, text...)
	return text != nil
}

// string writes a string. It escapes quotes and backslashes, which are in the keys of most
// managed fields. If the string may need other escapes, encoding/json writes it.
func (w *writer) string(s string) error {
	begin := len(w.data)
	w.data = append(w.data, '"')
	from := 0
	for i := range len(s) {
		c := s[i]
		switch {
		case c == '"' || c == '\\':
			w.data = append(w.data, s[from:i]...)
			w.data = append(w.data, '\\')
			from = i
		case c < ' ' || c >= 0x80 || c == '<' || c == '>' || c == '&':
			w.data = w.data[:begin]
			return w.other(s)
		}
	}
	w.data = append(w.data, s[from:]...)
	w.data = append(w.data, '"')
	return nil
}

// float writes a number. If the number needs an exponent, encoding/json writes it. For NaN
// and infinity, encoding/json returns an error.
func (w *writer) float(f float64) error {
	if abs := math.Abs(f); f != 0 && (abs < 1e-6 || abs >= 1e21) || math.IsNaN(f) {
		return w.other(f)
	}
	w.data = strconv.AppendFloat(w.data, f, 'f', -1, 64)
	return nil
}

// other writes a value with encoding/json.
func (w *writer) other(v any) error {
	data, err := json.Marshal(v)
	w.data = append(w.data, data...)
	return err
}
