package answer

import (
	"bytes"
	"encoding/json"

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
