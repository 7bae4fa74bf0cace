package ownership

import (
	"strings"
	"unicode/utf8"

	"holdfast.dev/holdfast/value"
)

const (
	// maxShown is how many runes of a value are shown.
	maxShown = 64
	// maxLead is how many runes are shown before the first difference of two values.
	maxLead = 16
	// maxPrinted is how many runes of a value are compared to find the difference.
	maxPrinted = 1 << 20
)

// shown is the texts of the values of a finding.
type shown struct{ live, updated, applied string }

// shown returns the values of a finding as they are printed. Long values are cut around
// their first difference, so that different values have different texts.
func (v *Verdict) shown(f *Finding) shown {
	short := shown{v.Show(f.Live), v.Show(f.New), v.Show(f.Applied)}
	if v.redacted || !isCut(short.live) && !isCut(short.updated) && !isCut(short.applied) {
		return short
	}
	x, y, z := printed(f.Live), printed(f.New), printed(f.Applied)
	at := difference(x, y)
	out := shown{window(x, at), window(y, at), window(z, at)}
	switch {
	case z != x && out.applied == out.live:
		out.applied = window(z, difference(z, x))
	case z != y && out.applied == out.updated:
		out.applied = window(z, difference(z, y))
	}
	return out
}

func isCut(text string) bool { return strings.HasSuffix(text, "…") }

func printed(v any) string {
	return value.Printer{Limit: maxPrinted, LiteralHTML: true}.Print(v)
}

// difference returns the index of the first byte in which two texts differ, at the
// beginning of a rune.
func difference(a, b string) int {
	n := min(len(a), len(b))
	i := 0
	for i < n && a[i] == b[i] {
		i++
	}
	for i > 0 && i < len(a) && !utf8.RuneStart(a[i]) {
		i--
	}
	return i
}

// window returns the part of a text around an index, with an ellipsis where it is cut.
func window(text string, at int) string {
	if utf8.RuneCountInString(text) <= maxShown {
		return text
	}
	begin := min(at, len(text))
	for range maxLead {
		_, size := utf8.DecodeLastRuneInString(text[:begin])
		begin -= size
	}
	if begin <= 0 || utf8.RuneCountInString(text[:min(at, len(text))]) < maxShown/2 {
		return value.Cut(text, maxShown)
	}
	return "…" + value.Cut(text[begin:], maxShown-1)
}
