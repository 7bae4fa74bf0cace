package cli

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"holdfast.dev/holdfast/ownership"
	"holdfast.dev/holdfast/value"
)

const (
	green   = "\x1b[32m"
	yellow  = "\x1b[33m"
	noColor = "\x1b[0m"
	// maxShown is the number of runes of a value that are shown.
	maxShown = 64
)

// ownersTree prints an object as a tree of fields, with the owner of each field.
type ownersTree struct {
	lines  []ownersLine
	colour bool
}

// ownersLine is one line of the tree.
type ownersLine struct {
	owner, setBy, at string
	text             string
	// isField is false for a line that is only the parent of fields.
	isField bool
}

// newOwnersTree builds the tree. With hidden, values are not shown.
func newOwnersTree(fields []ownership.Field, hidden bool) *ownersTree {
	t := &ownersTree{}
	// parents are the labels of the lines above the current field.
	var parents []string
	for _, f := range fields {
		var labels []string
		for _, step := range f.Path.Steps() {
			labels = append(labels, strings.TrimPrefix(ownership.Path{Path: value.NewPath(step)}.String(), "."))
		}
		shared := 0
		for shared < len(parents) && shared < len(labels)-1 && parents[shared] == labels[shared] {
			shared++
		}
		for i := shared; i < len(labels)-1; i++ {
			t.lines = append(t.lines, ownersLine{text: strings.Repeat("  ", i) + labels[i]})
		}
		parents = labels[:len(labels)-1]
		shown := redacted
		if !hidden {
			shown = value.Printer{Limit: maxShown}.Print(f.Value)
		}
		t.lines = append(t.lines, ownersLine{
			owner: orDash(ownerOf(f)), setBy: orDash(f.Set.Name), at: orDash(timeText(f.Set.Time)),
			text: strings.Repeat("  ", len(labels)-1) + labels[len(labels)-1] + ": " + shown, isField: true,
		})
	}
	return t
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// print writes the tree with its columns aligned.
func (t *ownersTree) print(out io.Writer) error {
	head := ownersLine{owner: "OWNER", setBy: "SET BY", at: "AT", text: "FIELD"}
	widths := [3]int{}
	for _, l := range append([]ownersLine{head}, t.lines...) {
		for i, cell := range []string{l.owner, l.setBy, l.at} {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, l := range append([]ownersLine{head}, t.lines...) {
		before, after := t.colours(l)
		_, err := fmt.Fprintf(out, "%s%-*s  %-*s  %-*s  %s%s\n",
			before, widths[0], l.owner, widths[1], l.setBy, widths[2], l.at, l.text, after)
		if err != nil {
			return err
		}
	}
	return nil
}

// colours returns the escape sequences around a line: green for owned fields, yellow for
// others.
func (t *ownersTree) colours(l ownersLine) (before, after string) {
	switch {
	case !t.colour || !l.isField:
		return "", ""
	case l.owner != "-":
		return green, noColor
	}
	return yellow, noColor
}
