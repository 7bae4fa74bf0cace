package custom

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"encoding/binary"
	"hash/crc32"
	"io"
	"sync"
)

// longAnswer is the size from which the server compresses an answer. It is that of
// Kubernetes.
const longAnswer = 128 << 10

// The compression of a LIST takes most of its processor time. Therefore the cache of texts holds
// the compressed text of each object, and the answer is one gzip member that is put together
// from them. This is possible because a compressed text ends at a byte boundary, and refers to
// no text before it.

// gzipStart begins a gzip member, without a file name and a time.
const gzipStart = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"

// packedEnd is the last block of a deflate stream. It is empty.
const packedEnd = "\x01\x00\x00\xff\xff"

// maxStored is the length of the longest text that literal does not compress, such as the cells of
// a row.
const maxStored = 256

// packers holds compressors.
type packers struct{ pool sync.Pool }

// pack appends the compressed form of a text to a buffer: deflate blocks that refer to nothing
// before them, of which none is the last. The level is that of Kubernetes.
func (p *packers) pack(to, text []byte) ([]byte, error) {
	out := bytes.NewBuffer(to)
	w, ok := p.pool.Get().(*flate.Writer)
	if ok {
		w.Reset(out)
	} else {
		var err error
		if w, err = flate.NewWriter(out, gzip.BestSpeed); err != nil {
			return nil, err
		}
	}
	defer func() {
		w.Reset(nil)
		p.pool.Put(w)
	}()
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	err := w.Flush()
	return out.Bytes(), err
}

// isLong reports whether a list is long enough to be compressed.
func (a answerEncoder) isLong(list *objectList) bool {
	size := 0
	for i := range list.Items {
		text, err := a.text(&list.Items[i])
		if err != nil {
			return false // The encoder returns the error.
		}
		if size += len(text.plain); size > longAnswer {
			return true
		}
	}
	return false
}

// text returns the text of an object, from the cache if possible.
func (a answerEncoder) text(obj *object) (cachedText, error) {
	text := a.cached(obj)
	if text.plain != nil {
		return text, nil
	}
	var err error
	text.plain, err = a.buffers.build(func(to []byte) ([]byte, error) { return a.encode(to, obj) })
	if err == nil {
		a.cache(obj, text)
	}
	return text, err
}

// packedText is text, with the compressed form.
func (a answerEncoder) packedText(obj *object) (cachedText, error) {
	text, err := a.text(obj)
	if err != nil || text.packed != nil {
		return text, err
	}
	text.packed, err = a.buffers.build(func(to []byte) ([]byte, error) { return a.packers.pack(to, text.plain) })
	if err == nil {
		a.cache(obj, text)
	}
	return text, err
}

// writePacked writes a list as gzip. The first write is short, so that the response writer of the
// library does not compress the answer again.
func (a answerEncoder) writePacked(w io.Writer, list *objectList) error {
	around, err := a.frame(list)
	if err != nil {
		return err
	}
	a.header.Set("Content-Encoding", "gzip")
	a.header.Add("Vary", "Accept-Encoding")
	if _, err := io.WriteString(w, gzipStart); err != nil {
		return err
	}
	out := packedAnswer{packers: a.packers, w: w}
	if err := out.literal(around.head); err != nil {
		return err
	}
	for i := range list.Items {
		if err := out.literal(around.before(i)); err != nil {
			return err
		}
		text, err := a.packedText(&list.Items[i])
		if err != nil {
			return err
		}
		if out.append(text.plain, text.packed); len(out.data) < flushSize {
			continue
		}
		if err := out.flush(); err != nil {
			return err
		}
	}
	if err := out.literal(append(around.end(), '\n')); err != nil {
		return err
	}
	return out.end()
}

// packedAnswer is a gzip member that is being written.
type packedAnswer struct {
	packers *packers
	w       io.Writer
	data    []byte
	// sum and size are the checksum and the size of the text.
	sum, size uint32
}

// append appends a text, given in both forms.
func (o *packedAnswer) append(plain, packed []byte) {
	o.data = append(o.data, packed...)
	o.sum = crc32.Update(o.sum, crc32.IEEETable, plain)
	o.size += uint32(len(plain)) //nolint:gosec // The format has the size modulo 2^32.
}

// literal appends a text that is not cached. A short one becomes a block without compression: its
// size and the complement of its size come before the text.
func (o *packedAnswer) literal(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	if size := uint16(len(text)); len(text) <= maxStored { //nolint:gosec // A longer text is not stored.
		block := binary.LittleEndian.AppendUint16([]byte{0}, size)
		block = binary.LittleEndian.AppendUint16(block, ^size)
		o.append(text, append(block, text...))
		return nil
	}
	packed, err := o.packers.pack(nil, text)
	if err == nil {
		o.append(text, packed)
	}
	return err
}

func (o *packedAnswer) end() error {
	o.data = append(o.data, packedEnd...)
	o.data = binary.LittleEndian.AppendUint32(o.data, o.sum)
	o.data = binary.LittleEndian.AppendUint32(o.data, o.size)
	return o.flush()
}

func (o *packedAnswer) flush() error {
	_, err := o.w.Write(o.data)
	o.data = o.data[:0]
	return err
}
