package answer

import (
	"io"

	"holdfast.dev/holdfast/internal/apiserver/custom/object"
	"holdfast.dev/holdfast/internal/apiserver/deflate"
)

// longAnswer is the size from which the server compresses an answer. It is that of
// Kubernetes.
const longAnswer = 128 << 10

// The compression of a LIST takes most of its processor time. Therefore the cache of texts holds
// the compressed text of each object, and the answer is one gzip stream that is put together
// from them, see package deflate.

// isLong reports whether a list is long enough to be compressed.
func (a answerEncoder) isLong(list *object.List) bool {
	size := 0
	for i := range list.Items {
		text, err := a.text(&list.Items[i])
		if err != nil {
			return false // The encoder returns the error.
		}
		if size += len(text.json); size > longAnswer {
			return true
		}
	}
	return false
}

// text returns the text of an object, from the cache if possible.
func (a answerEncoder) text(obj *object.Object) (cachedText, error) {
	text := a.cached(obj)
	if text.json != nil {
		return text, nil
	}
	var err error
	text.json, err = a.quick.buffers.build(func(to []byte) ([]byte, error) { return a.encode(to, obj) })
	if err == nil {
		a.cache(obj, text)
	}
	return text, err
}

// packedText is text, with the compressed form.
func (a answerEncoder) packedText(obj *object.Object) (cachedText, error) {
	text, err := a.text(obj)
	if err != nil || text.packed.Len() > 0 {
		return text, err
	}
	text.packed, err = a.quick.compressors.Compress(text.json)
	if err == nil {
		a.cache(obj, text)
	}
	return text, err
}

// writePacked writes a list as gzip. The first write is short, so that the response writer of the
// library does not compress the answer again.
func (a answerEncoder) writePacked(w io.Writer, list *object.List) error {
	around, err := a.frame(list)
	if err != nil {
		return err
	}
	a.header.Set("Content-Encoding", "gzip")
	a.header.Add("Vary", "Accept-Encoding")
	out := deflate.NewWriter(w, a.quick.compressors)
	if err := out.Flush(); err != nil {
		return err
	}
	if err := out.Text(around.head); err != nil {
		return err
	}
	for i := range list.Items {
		if err := out.Text(around.before(i)); err != nil {
			return err
		}
		text, err := a.packedText(&list.Items[i])
		if err != nil {
			return err
		}
		if err := out.Piece(text.packed); err != nil {
			return err
		}
	}
	if err := out.Text(append(around.end(), '\n')); err != nil {
		return err
	}
	return out.Close()
}
