package console

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"strconv"

	"github.com/chromedp/chromedp"
)

// phone and desk are the widths of windows at which every view must fit.
const phone, desk = 390, 1440

// resize sets the size of the window.
func (b *browser) resize(width int) {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(int64(width), 1000))
	b.waitFor("the width of the window", "innerWidth === "+strconv.Itoa(width))
}

// outside lists the elements that are not inside the window. A wide table may be, in a region that scrolls.
const outside = `[...document.querySelectorAll('body *')].filter((e) => e.checkVisibility() && !e.matches('.hidden, .skip') && !e.closest('thead') &&
	!e.parentElement.closest('.scroll') && (e.getBoundingClientRect().right > innerWidth + 0.5 || e.getBoundingClientRect().left < -0.5))
	.map((e) => e.localName + '#' + e.id + ' ' + e.textContent.slice(0, 40)).join('; ')`

// checkFits checks at each width that nothing of a view is outside of the window: by the places of the elements, and by a picture of the
// whole page, whose edges must be empty. On a phone no table may need scrolling. With HOLDFAST_SCREENSHOTS, the pictures are written to
// its folder whole, if there is one.
func (b *browser) checkFits(name string) {
	b.t.Helper()
	for _, width := range []int{phone, desk} {
		b.resize(width)
		b.value("document.activeElement.blur() || scrollTo(0, 0)")
		if found := b.value(outside); found != "" {
			b.t.Errorf("%s at %d: outside of the window: %s", name, width, found)
		}
		if got := b.value("document.documentElement.scrollWidth"); got != strconv.Itoa(width) {
			b.t.Errorf("%s at %d: the page is %s wide", name, width, got)
		}
		if got := b.value("[...document.querySelectorAll('.scroll')].filter((e) => e.scrollWidth > e.clientWidth).length"); width == phone && got != "0" {
			b.t.Errorf("%s at %d: %s tables must be scrolled", name, width, got)
		}
		shot, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
		if err != nil {
			b.t.Fatal(err)
		}
		picture, err := png.Decode(bytes.NewReader(shot))
		if err != nil {
			b.t.Fatal(err)
		}
		if at := inkAtEdge(picture); picture.Bounds().Dx() != width || at != "" {
			b.t.Errorf("%s: the picture is %d wide, want %d, and is not empty at %q", name, picture.Bounds().Dx(), width, at)
		}
		b.write(fmt.Sprintf("whole/%s-%d", name, width), shot)
	}
}

// inkAtEdge returns a place at the left or the right edge of a picture that does not have the colour of the first one.
func inkAtEdge(picture image.Image) string {
	const edge = 4
	bounds := picture.Bounds()
	empty := picture.At(bounds.Min.X, bounds.Min.Y)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for i := range edge {
			for _, x := range []int{bounds.Min.X + i, bounds.Max.X - 1 - i} {
				if picture.At(x, y) != empty {
					return fmt.Sprint(x, ",", y)
				}
			}
		}
	}
	return ""
}
