package openapi

import (
	"bytes"
	"hash/crc32"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestJoin checks that a document of pieces has their texts, in order, and a checksum that a reader accepts.
func TestJoin(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a boat with a sail, ", 10_000)
	for name, texts := range map[string][]string{
		"no piece":          nil,
		"empty pieces":      {"", "", ""},
		"short":             {"{", "}"},
		"long":              {long},
		"short and long":    {"{", long, ",", long + "x", "}"},
		"around the limits": {strings.Repeat("a", shortText-1), strings.Repeat("b", shortText), strings.Repeat("c", shortText+1)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			packer := NewPacker()
			var pieces []Piece
			for _, text := range texts {
				piece, err := packer.Pack([]byte(text))
				if err != nil {
					t.Fatal(err)
				}
				pieces = append(pieces, piece)
			}
			// The pieces are used for many documents.
			for range 2 {
				got, err := decompress(join(pieces))
				if want := strings.Join(texts, ""); err != nil || string(got) != want {
					t.Errorf("%d bytes, want %d, error %v", len(got), len(want), err)
				}
			}
		})
	}
}

// TestCombine checks checksums of two random texts against the one of the whole text.
func TestCombine(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		first, second := make([]byte, random.IntN(300)), make([]byte, random.IntN(300))
		for _, text := range [][]byte{first, second} {
			for i := range text {
				text[i] = byte(random.Uint32())
			}
		}
		want := crc32.ChecksumIEEE(bytes.Join([][]byte{first, second}, nil))
		if got := combine(crc32.ChecksumIEEE(first), crc32.ChecksumIEEE(second), int64(len(second))); got != want {
			t.Fatalf("%d and %d bytes: %x, want %x", len(first), len(second), got, want)
		}
	}
}
