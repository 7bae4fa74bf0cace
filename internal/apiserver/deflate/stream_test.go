package deflate_test

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"

	"holdfast.dev/holdfast/internal/apiserver/deflate"
)

// decompress accepts one gzip member with nothing after it.
func decompress(t *testing.T, stream []byte) []byte {
	t.Helper()
	from := bufio.NewReader(bytes.NewReader(stream))
	member, err := gzip.NewReader(from)
	if err != nil {
		t.Fatal(err)
	}
	member.Multistream(false)
	text, err := io.ReadAll(member)
	if err != nil {
		t.Fatal(err)
	}
	if rest, _ := io.ReadAll(from); len(rest) > 0 {
		t.Errorf("%d bytes follow the gzip member", len(rest))
	}
	return text
}

// check compresses texts and compares three streams with their concatenation: one of pieces, one that is written from pieces and texts
// in turn, and one of the same pieces in the reverse order.
func check(t *testing.T, compressors *deflate.Pool, texts [][]byte) {
	t.Helper()
	var pieces, reversed []deflate.Piece
	var want, wantReversed []byte
	var written bytes.Buffer
	writer := deflate.NewWriter(&written, compressors)
	for i, text := range texts {
		piece, err := compressors.Compress(text)
		if err != nil {
			t.Fatal(err)
		}
		if piece.Len() == 0 {
			t.Error("a piece is empty")
		}
		pieces, want = append(pieces, piece), append(want, text...)
		reversed = append([]deflate.Piece{piece}, reversed...)
		wantReversed = append(bytes.Clone(text), wantReversed...)
		if i%2 == 0 {
			err = writer.Piece(piece)
		} else {
			err = writer.Text(text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name         string
		stream, want []byte
	}{
		{"joined", deflate.Join(pieces), want},
		{"written", written.Bytes(), want},
		{"joined in the reverse order", deflate.Join(reversed), wantReversed},
	} {
		if got := decompress(t, test.stream); !bytes.Equal(got, test.want) {
			t.Errorf("%s: %d bytes, want %d", test.name, len(got), len(test.want))
		}
	}
}

// TestStreams checks that a stream has the texts of its pieces, in order, and a checksum that a reader accepts.
func TestStreams(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a boat with a sail, ", 10_000)
	pools := map[string]*deflate.Pool{
		"fast": deflate.NewPool(flate.BestSpeed), "default": deflate.NewPool(flate.DefaultCompression),
	}
	for name, texts := range map[string][]string{
		"no piece":          nil,
		"empty pieces":      {"", "", ""},
		"short":             {"{", "}"},
		"long":              {long},
		"short and long":    {"{", long, ",", long + "x", "}"},
		"around the limits": {strings.Repeat("a", 255), strings.Repeat("b", 256), strings.Repeat("c", 257)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var all [][]byte
			for _, text := range texts {
				all = append(all, []byte(text))
			}
			for _, compressors := range pools {
				check(t, compressors, all)
			}
		})
	}
}

// FuzzStreams cuts a text into pieces of given lengths.
func FuzzStreams(f *testing.F) {
	f.Add([]byte(`{"items":[{"kind":"Boat"},{"kind":"Boat"}]}`), []byte{10, 15, 1, 15})
	f.Add(bytes.Repeat([]byte("boat "), 1000), []byte{0, 255, 255, 3, 200, 255})
	compressors := deflate.NewPool(flate.BestSpeed)
	f.Fuzz(func(t *testing.T, text, lengths []byte) {
		var texts [][]byte
		for _, length := range lengths {
			at := min(4*int(length), len(text))
			texts = append(texts, text[:at])
			text = text[at:]
		}
		check(t, compressors, append(texts, text))
	})
}

// TestUnknownLevel checks that a level that does not exist is an error.
func TestUnknownLevel(t *testing.T) {
	t.Parallel()
	if _, err := deflate.NewPool(99).Compress(make([]byte, 1000)); err == nil {
		t.Error("Compress accepts level 99")
	}
}

// refusing is a client that does not read its answer.
type refusing struct{}

func (refusing) Write([]byte) (int, error) { return 0, errors.New("the client is gone") }

// TestWriterFlushes checks that a writer does not keep a long stream, and returns the error of the writer below.
func TestWriterFlushes(t *testing.T) {
	t.Parallel()
	compressors := deflate.NewPool(flate.NoCompression)
	piece, err := compressors.Compress(make([]byte, 40<<10))
	if err != nil {
		t.Fatal(err)
	}
	var written bytes.Buffer
	writer := deflate.NewWriter(&written, compressors)
	if err := writer.Flush(); err != nil || written.Len() != 10 {
		t.Errorf("the header has %d bytes, want 10 (%v)", written.Len(), err)
	}
	for range 10 {
		if err := writer.Piece(piece); err != nil {
			t.Fatal(err)
		}
	}
	if written.Len() < 300<<10 {
		t.Errorf("%d bytes of a stream of 400 KiB are written", written.Len())
	}
	lost := deflate.NewWriter(refusing{}, compressors)
	if err := errors.Join(lost.Piece(piece), lost.Piece(piece)); err == nil {
		t.Error("the writer hides an error")
	}
}
