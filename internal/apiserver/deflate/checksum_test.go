package deflate

import (
	"bytes"
	"hash/crc32"
	"math/rand/v2"
	"testing"
)

// TestCombine compares checksums of two random texts with the one of the whole text.
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
		if got := combine(crc32.ChecksumIEEE(first), crc32.ChecksumIEEE(second), shiftOf(len(second))); got != want {
			t.Fatalf("%d and %d bytes: %x, want %x", len(first), len(second), got, want)
		}
	}
}
