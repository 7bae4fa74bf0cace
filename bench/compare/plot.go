package compare

import (
	"fmt"
	"strings"
)

// The layout of a plot, in pixels.
const (
	plotWidth  = 860
	labelWidth = 260
	barWidth   = 440
	barHeight  = 14
	rowHeight  = 44
	topMargin  = 40
	textHeight = 16
	// digitWidth is a little more than the width of a digit of size 12.
	digitWidth = 8
)

// Plot returns the rows of a section as an SVG picture, or "" if there are not two sides. Each row is drawn on a scale of its own:
// the longer of its two bars has the full width. A mark shows the goal.
func (f *Figures) Plot(section string) string {
	if len(f.Sides) != 2 {
		return ""
	}
	var rows strings.Builder
	y := topMargin
	hasGoal := false
	for _, l := range f.Lines {
		if l.Section != section || !f.shows(l) {
			continue
		}
		rows.WriteString(l.bars(y))
		y += rowHeight
		hasGoal = hasGoal || l.goalValue() > 0
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="13">`+"\n",
		plotWidth, y+10)
	b.WriteString(`<rect width="100%" height="100%" fill="white"/>` + "\n")
	for i, one := range f.Sides {
		x := labelWidth + 160*i
		fmt.Fprintf(&b, `<rect x="%d" y="12" width="14" height="14" fill="%s"/><text x="%d" y="24">%s</text>`+"\n",
			x, colour(i), x+20, escape(one.Name))
	}
	if hasGoal {
		fmt.Fprintf(&b, `<rect x="%d" y="10" width="2" height="18" fill="#c62828"/><text x="%d" y="24">goal</text>`+"\n",
			labelWidth+320, labelWidth+328)
	}
	b.WriteString(rows.String())
	b.WriteString("</svg>\n")
	return b.String()
}

// bars draws one row.
func (l *Line) bars(y int) string {
	var b strings.Builder
	medians := l.medians()
	goal := l.goalValue()
	longest := max(medians[0], medians[1], goal, 1e-9)
	label := wrap(l.Name)
	for i, text := range label {
		baseline := y + barHeight + 5 + textHeight*i - textHeight/2*(len(label)-1)
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n", labelWidth-10, baseline, escape(text))
	}
	mark := int(barWidth * goal / longest)
	for i, value := range medians {
		width, top, text := max(1, int(barWidth*value/longest)), y+i*(barHeight+2), format(l.Row, value)
		textAt := width + 6
		if goal > 0 && mark+2 > width && mark < textAt+digitWidth*len(text) {
			textAt = mark + 8 // the mark would cross the text
		}
		fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s"/>`, labelWidth, top, width, barHeight, colour(i))
		fmt.Fprintf(&b, `<text x="%d" y="%d" font-size="12">%s</text>`+"\n", labelWidth+textAt, top+barHeight-2, text)
	}
	if goal > 0 {
		fmt.Fprintf(&b, `<rect x="%d" y="%d" width="2" height="%d" fill="#c62828"/>`+"\n", labelWidth+mark, y-2, 2*barHeight+6)
	}
	return b.String()
}

// goalValue returns the highest value of Holdfast that reaches the goal, and 0 without a goal.
func (l *Line) goalValue() float64 {
	if l.Goal > 0 {
		return l.Goal * l.medians()[1]
	}
	return l.Limit
}

// wrap breaks a label into lines that fit beside the bars.
func wrap(label string) []string {
	const longest = 32
	var lines []string
	for word := range strings.FieldsSeq(label) {
		last := len(lines) - 1
		if last >= 0 && len(lines[last])+1+len(word) <= longest {
			lines[last] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}

func colour(sideIndex int) string { return []string{"#1565c0", "#9e9e9e"}[sideIndex] }

func escape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}
