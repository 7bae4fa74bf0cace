package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"holdfast.dev/holdfast/ownership"
)

const (
	green   = "\x1b[32m"
	yellow  = "\x1b[33m"
	noColor = "\x1b[0m"
	// maxShown is how many runes of a value are shown.
	maxShown = 64
)

// ownersTree is an object as a tree of fields, each line with whose it is.
type ownersTree struct {
	lines  []ownersLine
	colour bool
}

type ownersLine struct {
	owner, setBy, at string
	text             string
	// isField is unset for the lines that only lead to fields.
	isField bool
}

func newOwnersTree(fields []ownership.Field, hidden bool) *ownersTree {
	t := &ownersTree{}
	var open []string
	for _, f := range fields {
		labels := make([]string, len(f.Path))
		for i := range f.Path {
			labels[i] = strings.TrimPrefix(f.Path[i:i+1].String(), ".")
		}
		shared := 0
		for shared < len(open) && shared < len(labels)-1 && open[shared] == labels[shared] {
			shared++
		}
		for i := shared; i < len(labels)-1; i++ {
			t.lines = append(t.lines, ownersLine{text: strings.Repeat("  ", i) + labels[i]})
		}
		open = labels[:len(labels)-1]
		value := redacted
		if !hidden {
			value = shown(f.Value)
		}
		t.lines = append(t.lines, ownersLine{
			owner: orDash(ownerOf(f)), setBy: orDash(f.Set.Name), at: orDash(timeText(f.Set.Time)),
			text: strings.Repeat("  ", len(labels)-1) + labels[len(labels)-1] + ": " + value, isField: true,
		})
	}
	return t
}

// shown is a value as compact JSON, cut where it is long.
func shown(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprintf("%v", value)
	}
	text := string(data)
	if utf8.RuneCountInString(text) > maxShown {
		text = string([]rune(text)[:maxShown]) + "…"
	}
	return text
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
		if _, err := fmt.Fprintf(out, "%s%-*s  %-*s  %-*s  %s%s\n", before, widths[0], l.owner, widths[1], l.setBy, widths[2], l.at, l.text, after); err != nil {
			return err
		}
	}
	return nil
}

// colours tell apart what apply owns and what others set by hand.
func (t *ownersTree) colours(l ownersLine) (before, after string) {
	switch {
	case !t.colour || !l.isField:
		return "", ""
	case l.owner != "-":
		return green, noColor
	}
	return yellow, noColor
}
