package openapi

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"hash/crc32"
)

// Piece is a part of the text of a document, compressed. A document of many pieces is made without compressing them again: the blocks
// of a gzip stream follow each other, whatever wrote them.
type Piece struct {
	// blocks are complete deflate blocks that end at a byte and are not the last ones of a stream.
	blocks []byte
	// checksum and size are those of the text.
	checksum uint32
	size     int64
}

// Packer makes pieces. It needs more than a megabyte, and is not safe for concurrent use.
type Packer struct {
	writer *flate.Writer
	buffer bytes.Buffer
}

// NewPacker returns a packer.
func NewPacker() *Packer {
	p := &Packer{}
	// The only error of flate.NewWriter is that of a level that does not exist.
	p.writer, _ = flate.NewWriter(&p.buffer, flate.DefaultCompression)
	return p
}

// shortText is the length up to which a text is not compressed. To compress it takes longer than it saves.
const shortText = 256

// Pack returns a piece with a text.
func (p *Packer) Pack(text []byte) (Piece, error) {
	piece := Piece{checksum: crc32.ChecksumIEEE(text), size: int64(len(text))}
	if len(text) <= shortText {
		piece.blocks = stored(text)
		return piece, nil
	}
	p.buffer.Reset()
	p.writer.Reset(&p.buffer)
	if _, err := p.writer.Write(text); err != nil {
		return Piece{}, err
	}
	// Flush ends the blocks at a byte, and does not end the stream.
	if err := p.writer.Flush(); err != nil {
		return Piece{}, err
	}
	piece.blocks = bytes.Clone(p.buffer.Bytes())
	return piece, nil
}

// stored returns a deflate block that contains a short text as it is (RFC 1951, section 3.2.4).
func stored(text []byte) []byte {
	length := uint16(len(text)) // at most shortText
	out := append(make([]byte, 0, 5+len(text)), 0)
	out = binary.LittleEndian.AppendUint16(out, length)
	out = binary.LittleEndian.AppendUint16(out, ^length)
	return append(out, text...)
}

// join returns the texts of all pieces as one gzip stream (RFC 1952).
func join(pieces []Piece) []byte {
	length := 0
	for _, p := range pieces {
		length += len(p.blocks)
	}
	const method, unknownSystem = 8, 255
	header := []byte{0x1f, 0x8b, method, 0, 0, 0, 0, 0, 0, unknownSystem}
	lastBlock := []byte{1, 0, 0, 0xff, 0xff} // an empty stored block with the bit that ends the stream
	out := append(make([]byte, 0, len(header)+length+len(lastBlock)+8), header...)
	var checksum uint32
	var size int64
	for _, p := range pieces {
		out = append(out, p.blocks...)
		checksum = combine(checksum, p.checksum, p.size)
		size += p.size
	}
	out = append(out, lastBlock...)
	out = binary.LittleEndian.AppendUint32(out, checksum)
	return binary.LittleEndian.AppendUint32(out, uint32(size)) // gzip counts modulo 2^32
}
