package answer

import (
	"bytes"
	"sync"
)

// maxBuffer is the size of the largest buffer that is used again.
const maxBuffer = 4 * flushSize

// buffers holds buffers for encoding. The zero value is ready to use.
type buffers struct{ pool sync.Pool }

// get returns an empty buffer.
func (b *buffers) get() *[]byte {
	if buffer, ok := b.pool.Get().(*[]byte); ok {
		return buffer
	}
	return new([]byte)
}

// put gives back a buffer with the memory of data, unless that is large.
func (b *buffers) put(buffer *[]byte, data []byte) {
	if cap(data) <= maxBuffer {
		*buffer = data[:0]
		b.pool.Put(buffer)
	}
}

// build returns a text that appendTo appends to a buffer, in memory of its own and of the right
// size.
func (b *buffers) build(appendTo func([]byte) ([]byte, error)) ([]byte, error) {
	buffer := b.get()
	data, err := appendTo(*buffer)
	text := bytes.Clone(data)
	b.put(buffer, data)
	return text, err
}
