package console

import (
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// keys sends keys to the element that has the focus.
func (b *browser) keys(keys string) {
	b.t.Helper()
	b.do(chromedp.KeyEvent(keys))
}

// tabTo presses Tab until an element has the focus, as a user without a mouse does.
func (b *browser) tabTo(selector string) {
	b.t.Helper()
	for range 200 {
		if b.value("document.activeElement.matches("+quote(selector)+")") == "true" {
			return
		}
		b.keys(kb.Tab)
	}
	b.t.Fatalf("200 times Tab do not lead to %s: the focus is on %s", selector, b.value("document.activeElement.outerHTML"))
}
