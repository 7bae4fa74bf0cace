package deflate

import (
	"bytes"
	"sync"
)

// maxBuffer is the size of the largest buffer that a compressor in a pool has.
const maxBuffer = 256 << 10

// Pool holds compressors that are not in use, until the garbage collector runs twice. It is safe for concurrent use.
type Pool struct {
	level int
	pool  sync.Pool
}

// NewPool returns a pool of compressors with a level of package compress/flate. If the level does not exist, the compressors fail.
func NewPool(level int) *Pool { return &Pool{level: level} }

// Get returns a compressor. A caller with many texts keeps it for all of them, and calls Put then.
func (p *Pool) Get() *Compressor {
	if c, ok := p.pool.Get().(*Compressor); ok {
		return c
	}
	return &Compressor{level: p.level}
}

// Put takes a compressor that Get returned. The caller does not use it any more.
func (p *Pool) Put(c *Compressor) {
	if c.buffer.Cap() > maxBuffer {
		c.buffer = bytes.Buffer{}
	}
	p.pool.Put(c)
}

// Compress returns the piece of a text.
func (p *Pool) Compress(text []byte) (Piece, error) {
	c := p.Get()
	defer p.Put(c)
	return c.Compress(text)
}
