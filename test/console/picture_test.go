package console

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/chromedp/chromedp"
)

// picture writes a screenshot for the documents, if HOLDFAST_SCREENSHOTS names a directory.
func (b *browser) picture(name string) {
	b.t.Helper()
	// The focus is not part of the picture.
	b.value("document.activeElement.blur() || scrollTo(0, 0)")
	shot, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Fatal(err)
	}
	b.write(name, shot)
}

// write writes a picture if HOLDFAST_SCREENSHOTS names a directory.
func (b *browser) write(name string, shot []byte) {
	b.t.Helper()
	dir := os.Getenv("HOLDFAST_SCREENSHOTS")
	path := filepath.Join(dir, name+".png")
	if _, err := os.Stat(filepath.Dir(path)); dir == "" || err != nil {
		return
	}
	small, err := reduce(shot)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, small, 0o644); err != nil { //nolint:gosec // a picture for everyone
		b.t.Fatal(err)
	}
}

// reduce encodes a picture with the 64 colours that it has most, which makes the file small.
func reduce(shot []byte) ([]byte, error) {
	full, err := png.Decode(bytes.NewReader(shot))
	if err != nil {
		return nil, err
	}
	bounds := full.Bounds()
	counts := map[color.RGBA]int{}
	at := func(x, y int) color.RGBA {
		r, g, b, _ := full.At(x, y).RGBA()
		// The last bits of a channel cannot be seen. The first bits replace them, so that white stays white.
		round := func(channel uint32) uint8 { return uint8(channel>>8)&^7 | uint8(channel>>13) }
		return color.RGBA{R: round(r), G: round(g), B: round(b), A: 255}
	}
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			counts[at(x, y)]++
		}
	}
	colours := slices.SortedFunc(maps.Keys(counts), func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B))
	})
	var palette color.Palette
	for _, c := range colours[:min(len(colours), 64)] {
		palette = append(palette, c)
	}
	small := image.NewPaletted(bounds, palette)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			small.Set(x, y, at(x, y))
		}
	}
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	err = encoder.Encode(&out, small)
	return out.Bytes(), err
}
