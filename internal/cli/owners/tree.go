package owners

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"holdfast.dev/holdfast/ownership"
	"holdfast.dev/holdfast/value"
)

const (
	green   = "\x1b[32m"
	yellow  = "\x1b[33m"
	red     = "\x1b[31m"
	noColor = "\x1b[0m"
	// maxShown is the number of runes of a value that are shown.
	maxShown = 64
)

// ownersLine is one line of the tree of fields.
type ownersLine struct {
	owner, setBy, at string
	text             string
	// colour is an escape sequence, "" for a line without colour.
	colour string
}

// print writes the report as a tree of fields with aligned columns.
func (r ownersReport) print(out io.Writer, colour bool) error {
	if r.Note != "" {
		if _, err := fmt.Fprintf(out, "Not all is known: %s\n", r.Note); err != nil {
			return err
		}
	}
	if len(r.Fields) == 0 {
		_, err := fmt.Fprintln(out, r.empty)
		return err
	}
	lines := append([]ownersLine{{owner: "OWNER", setBy: "SET BY", at: "AT", text: "FIELD"}}, r.lines()...)
	widths := [3]int{}
	for _, l := range lines {
		for i, cell := range []string{l.owner, l.setBy, l.at} {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, l := range lines {
		before, after := l.colour, noColor
		if !colour || l.colour == "" {
			before, after = "", ""
		}
		_, err := fmt.Fprintf(out, "%s%-*s  %-*s  %-*s  %s%s\n",
			before, widths[0], l.owner, widths[1], l.setBy, widths[2], l.at, l.text, after)
		if err != nil {
			return err
		}
	}
	return nil
}

// lines returns a line for each field, and for each parent of fields a line above them.
func (r ownersReport) lines() []ownersLine {
	var lines []ownersLine
	// parents are the labels of the lines above the current field.
	var parents []string
	for _, f := range r.Fields {
		var labels []string
		for _, step := range f.Path.Steps() {
			labels = append(labels, strings.TrimPrefix(ownership.Path{Path: value.NewPath(step)}.String(), "."))
		}
		last := len(labels) - 1
		shared := 0
		for shared < len(parents) && shared < last && parents[shared] == labels[shared] {
			shared++
		}
		for i := shared; i < last; i++ {
			lines = append(lines, ownersLine{text: strings.Repeat("  ", i) + labels[i]})
		}
		parents = labels[:last]
		line := fieldLine(f)
		line.text = strings.Repeat("  ", last) + labels[last] + ": " + line.text
		lines = append(lines, line)
	}
	return lines
}

// fieldLine returns the line of a field, with its value as text. It is green for an owned field,
// red for one that differs from the applied value, and yellow for a free one.
func fieldLine(f ownership.FieldReport) ownersLine {
	line := ownersLine{owner: f.Owner, setBy: unknown, at: unknown, text: show(f.Value), colour: green}
	if f.Owner == "" {
		line.owner, line.colour = "-", yellow
	}
	if f.SetBy != nil {
		line.setBy = *f.SetBy
	}
	if f.At != nil {
		line.at = f.At.Format(time.RFC3339)
	}
	if f.Applied != nil {
		line.text += " (applied: " + show(*f.Applied) + ")"
		line.colour = red
	}
	return line
}

// show returns the text of a value.
func show(v any) string {
	switch v {
	case nil:
		v = value.Absent{}
	case ownership.Redacted:
		return ownership.Redacted
	}
	return value.Printer{Limit: maxShown}.Print(v)
}
