package ownership

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"holdfast.dev/holdfast/value"
)

const (
	// maxWarnings is how many runes all warnings of a write have together. If there are
	// more than 4,096, the API server cuts each warning at 256.
	maxWarnings = 4000
	// maxLong is how many findings of one kind have a warning with all explanations.
	// More of them share one explanation.
	maxLong = 3
)

// Warnings returns the warnings about a write that was stored, in a fixed order.
func (v *Verdict) Warnings() []string {
	b := budget{resource: v.Resource}
	if v.Note != "" {
		b.add(v.note(), 0)
	}
	if v.Replaced {
		return append(b.lines, v.Resource+wasReplaced)
	}
	if v.Lost && v.Note == "" {
		return append(b.lines, v.Resource+wasLost)
	}
	rest := len(v.Findings)
	for _, group := range groups(v.Findings) {
		if len(group) > maxLong && !b.add(v.summary(group), rest) {
			return b.lines
		}
		for _, f := range group {
			line := v.long
			if len(group) > maxLong {
				line = v.short
			}
			if !b.add(line(f), rest) {
				return b.lines
			}
			rest--
		}
	}
	return b.lines
}

// note returns the warning about what could not be checked.
func (v *Verdict) note() string {
	line := notChecked + printable(v.Note)
	if v.Resource != "" {
		line += " (" + v.Resource + ")"
	}
	return line
}

// budget collects lines up to maxWarnings.
type budget struct {
	resource string
	lines    []string
	written  int
}

// add adds a line. If the line does not fit, add closes the budget with the number of
// findings that are left, and returns false.
func (b *budget) add(line string, rest int) bool {
	more := moreFields(rest) + " of " + b.resource
	size := utf8.RuneCountInString(line)
	if b.written+size+len(more) > maxWarnings {
		b.lines = append(b.lines, more)
		return false
	}
	b.lines, b.written = append(b.lines, line), b.written+size
	return true
}

func moreFields(n int) string {
	if n == 1 {
		return "and 1 more field"
	}
	return fmt.Sprintf("and %d more fields", n)
}

// groups divides findings by kind and owner. The groups have the order of their
// first findings.
func groups(findings []Finding) [][]*Finding {
	type key struct {
		kind       Kind
		manager    string
		clientSide bool
	}
	var out [][]*Finding
	at := map[key]int{}
	for i := range findings {
		f := &findings[i]
		k := key{f.Kind, f.Manager, f.clientSide}
		if _, ok := at[k]; !ok {
			at[k], out = len(out), append(out, nil)
		}
		out[at[k]] = append(out[at[k]], f)
	}
	return out
}

// maxText is how many runes of a text from a client are repeated in a line.
const maxText = 256

// printable returns a text from a client without control characters, and cut, so that
// it fits into one line of an HTTP header.
func printable(text string) string { return printableTo(maxText, text) }

func printableTo(limit int, text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
	return value.Cut(text, limit)
}
