package deflate

import (
	"encoding/binary"
	"hash/crc32"
	"io"
)

const (
	// header begins a gzip member, without a file name and a time: deflate, and an unknown system.
	header = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
	// lastBlock is an empty stored block with the bit that ends the stream.
	lastBlock = "\x01\x00\x00\xff\xff"
	// trailer is the length of the checksum and the size at the end.
	trailer = 8
	// flushSize is the size at which a Writer writes its buffer.
	flushSize = 64 << 10
)

// stream is a gzip member that is being put together.
type stream struct {
	data     []byte
	checksum uint32
	// size is that of the text, modulo 2^32, as in the format.
	size uint32
}

// start begins the stream, with memory for a length of blocks.
func start(length int) stream {
	return stream{data: append(make([]byte, 0, len(header)+length+len(lastBlock)+trailer), header...)}
}

func (s *stream) add(p Piece) {
	s.data = append(s.data, p.blocks...)
	s.checksum = combine(s.checksum, p.checksum, p.shift)
	s.size += uint32(p.size) //nolint:gosec // modulo 2^32
}

func (s *stream) end() {
	s.data = append(s.data, lastBlock...)
	s.data = binary.LittleEndian.AppendUint32(s.data, s.checksum)
	s.data = binary.LittleEndian.AppendUint32(s.data, s.size)
}

// Join returns the texts of all pieces, one after the other, as one gzip stream.
func Join(pieces []Piece) []byte {
	length := 0
	for _, p := range pieces {
		length += len(p.blocks)
	}
	out := start(length)
	for _, p := range pieces {
		out.add(p)
	}
	out.end()
	return out.data
}

// Writer writes texts as one gzip stream. It writes about 64 KiB at a time.
type Writer struct {
	compressors *Pool
	w           io.Writer
	stream      stream
}

// NewWriter returns a writer to w. The compressors are for texts that have no piece.
func NewWriter(w io.Writer, compressors *Pool) *Writer {
	return &Writer{compressors: compressors, w: w, stream: start(0)}
}

// Piece writes a piece.
func (w *Writer) Piece(p Piece) error {
	w.stream.add(p)
	return w.flushLarge()
}

// Text writes a text that has no piece.
func (w *Writer) Text(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	// The text is at hand, so its checksum takes less time than shiftOf and combine, unless the text is long.
	w.stream.checksum = crc32.Update(w.stream.checksum, crc32.IEEETable, text)
	w.stream.size += uint32(len(text)) //nolint:gosec // modulo 2^32
	if len(text) <= shortText {
		w.stream.data = appendStored(w.stream.data, text)
		return w.flushLarge()
	}
	c := w.compressors.Get()
	defer w.compressors.Put(c)
	blocks, err := c.blocks(text)
	if err != nil {
		return err
	}
	w.stream.data = append(w.stream.data, blocks...)
	return w.flushLarge()
}

// Flush writes what is in the buffer. The first call writes the header, if it comes before the first text.
func (w *Writer) Flush() error {
	_, err := w.w.Write(w.stream.data)
	w.stream.data = w.stream.data[:0]
	return err
}

// Close ends the stream. It does not close the writer below.
func (w *Writer) Close() error {
	w.stream.end()
	return w.Flush()
}

func (w *Writer) flushLarge() error {
	if len(w.stream.data) < flushSize {
		return nil
	}
	return w.Flush()
}
