package custom

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
)

// frame is the text around the objects of a list.
type frame struct {
	head, tail []byte
	// rows are the texts before the objects of a table, which are inside rows.
	rows [][]byte
}

// frameAround returns the text around a number of objects. The list is without its objects, so
// that its text ends with "[]}".
func frameAround(list runtime.Object, objects int) (frame, error) {
	text, err := json.Marshal(list)
	if err != nil || objects == 0 {
		return frame{head: text}, err
	}
	at := bytes.LastIndexByte(text, ']')
	return frame{head: text[:at], tail: text[at:]}, nil
}

// before returns the text between an object and the one before.
func (f frame) before(i int) []byte {
	switch {
	case f.rows == nil && i == 0:
		return nil
	case f.rows == nil:
		return []byte(",")
	case i == 0:
		return f.rows[0]
	}
	return append([]byte("},"), f.rows[i]...)
}

// end returns the text after the last object.
func (f frame) end() []byte {
	if len(f.rows) > 0 {
		return append([]byte("}"), f.tail...)
	}
	return f.tail
}

// frame returns the text around the objects of a list. The keys are sorted, as in every other
// answer.
func (a answerEncoder) frame(list *objectList) (out frame, err error) {
	if a.partial != nil {
		return a.partial.frame(list)
	}
	keys := append(slices.Collect(maps.Keys(list.Object)), "items")
	slices.Sort(keys)
	text := []byte("{")
	for i, key := range slices.Compact(keys) {
		if i > 0 {
			text = append(text, ',')
		}
		if text, err = a.format.Append(text, key); err != nil {
			return out, err
		}
		text = append(text, ':')
		if key == "items" {
			text = append(text, '[')
			out.head, text = text, []byte("]")
			continue
		}
		if text, err = a.format.Append(text, list.Object[key]); err != nil {
			return out, err
		}
	}
	text = append(text, '}')
	out.tail = text
	return out, nil
}
