package console

import (
	_ "embed"
	"encoding/json"
	"strings"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// access.js returns what is wrong with the page for users of a keyboard or a screen reader, and
// for users who see little.
//
//go:embed testdata/access.js
var accessScript string

// checkAccess checks the page as it is now.
func (b *browser) checkAccess(what string) {
	b.t.Helper()
	var found []string
	if err := json.Unmarshal([]byte(b.value(strings.TrimRight(accessScript, "\n"))), &found); err != nil {
		b.t.Fatal(err)
	}
	if len(found) > 0 {
		b.t.Errorf("%s:\n%s", what, strings.Join(found, "\n"))
	}
}

// dark makes the user prefer dark colours.
func (b *browser) dark() {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}},
	})
	if err != nil {
		b.t.Fatal(err)
	}
	b.waitFor("dark colours", "matchMedia('(prefers-color-scheme: dark)').matches")
}
