package deflate

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"hash/crc32"
)

// Piece is a compressed text.
type Piece struct {
	// blocks are complete deflate blocks that end at a byte and do not end a stream.
	blocks []byte
	// checksum and size are those of the text. shift is shiftOf(size). With it, a piece is added to a checksum by one
	// multiplication, for which the text is not needed.
	checksum, shift uint32
	size            int
}

// Len returns the length of the compressed text. It is 0 only for the zero Piece, which Compress does not return.
func (p Piece) Len() int { return len(p.blocks) }

// shortText is the length up to which a text is stored as it is. To compress it takes longer than it saves.
const shortText = 256

// Compressor makes pieces. It needs about a megabyte after the first long text, and is not safe for concurrent use. Pool.Get returns one.
type Compressor struct {
	level  int
	writer *flate.Writer
	buffer bytes.Buffer
}

// Compress returns the piece of a text.
func (c *Compressor) Compress(text []byte) (Piece, error) {
	piece := Piece{checksum: crc32.ChecksumIEEE(text), shift: shiftOf(len(text)), size: len(text)}
	if len(text) <= shortText {
		piece.blocks = appendStored(make([]byte, 0, storedOverhead+len(text)), text)
		return piece, nil
	}
	blocks, err := c.blocks(text)
	piece.blocks = bytes.Clone(blocks)
	return piece, err
}

// blocks returns the deflate blocks of a text. They are valid until the next call.
func (c *Compressor) blocks(text []byte) ([]byte, error) {
	c.buffer.Reset()
	if c.writer == nil {
		var err error
		if c.writer, err = flate.NewWriter(&c.buffer, c.level); err != nil {
			return nil, err
		}
	}
	c.writer.Reset(&c.buffer)
	if _, err := c.writer.Write(text); err != nil {
		return nil, err
	}
	// Flush ends the blocks at a byte, and does not end the stream.
	err := c.writer.Flush()
	return c.buffer.Bytes(), err
}

// storedOverhead is the length of a stored block without its text.
const storedOverhead = 5

// appendStored appends a deflate block that contains a short text as it is (RFC 1951, section 3.2.4).
func appendStored(to, text []byte) []byte {
	length := uint16(len(text)) //nolint:gosec // at most shortText
	to = binary.LittleEndian.AppendUint16(append(to, 0), length)
	to = binary.LittleEndian.AppendUint16(to, ^length)
	return append(to, text...)
}
