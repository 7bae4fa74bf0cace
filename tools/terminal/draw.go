package main

import (
	"fmt"
	"html"
	"strings"
	"time"
)

// The geometry, in pixels. The advance of the usual fonts for terminals is 0.6 of their size.
const (
	fontSize  = 13
	advance   = 7.8
	rowHeight = 18
	left, top = 16, 44
	width     = 2*left + columns*advance
	// ending is how long the end of a chapter stays.
	ending = 2 * time.Second
)

const style = `text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", "Liberation Mono", monospace; white-space: pre; fill: #1f2328 }
.screen { fill: #f6f8fa; stroke: #d1d9e0 } .dots { fill: #d1d9e0 }
.title, .command { font-weight: 600 } .text { fill: #59636e } .warning { fill: #7d4e00 } .refusal { fill: #a40e26 }
.chapter { visibility: hidden } .still { visibility: visible }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc } .screen { fill: #151b23; stroke: #3d444d } .dots { fill: #3d444d }
.text { fill: #9198a1 } .warning { fill: #e3b341 } .refusal { fill: #ff818e }
}
`

// moment is a part of the picture and when it is shown.
type moment struct {
	name        string
	appears     time.Duration
	chapterEnds time.Duration
}

// draw returns the picture of the chapters. The one with the index still is shown where there is no animation.
func draw(chapters []chapter, still int) string {
	rows := 0
	for _, c := range chapters {
		rows = max(rows, c.rows())
	}
	height := top + rows*rowHeight + rowHeight/2
	var body strings.Builder
	var moments []moment
	now := time.Duration(0)
	for i, c := range chapters {
		begin := len(moments)
		class := "chapter"
		if i == still {
			class += " still"
		}
		row := 0
		group := func(lines []line, reading time.Duration) {
			name := fmt.Sprintf("m%d", len(moments))
			fmt.Fprintf(&body, "<g id=\"%s\" class=\"%s\">\n", name, class)
			for _, l := range lines {
				fmt.Fprintf(&body, "<text class=\"%s\" x=\"%d\" y=\"%d\">%s</text>\n", l.class, left, top+row*rowHeight+fontSize, html.EscapeString(l.text))
				row++
			}
			body.WriteString("</g>\n")
			moments = append(moments, moment{name: name, appears: now})
			now += reading
		}
		group([]line{{"title", c.title}}, 0)
		for _, s := range c.steps {
			group(s.lines, s.reading)
		}
		now += ending
		for j := range moments[begin:] {
			moments[begin+j].chapterEnds = now
		}
	}
	var out strings.Builder
	fmt.Fprintf(&out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%d\" viewBox=\"0 0 %.0f %d\" role=\"img\" aria-labelledby=\"title\">\n",
		width, height, width, height)
	fmt.Fprintf(&out, "<title id=\"title\">What holdfast demo prints: %s</title>\n", html.EscapeString(titles(chapters)))
	fmt.Fprintf(&out, "<style>\n%s@media (prefers-reduced-motion: no-preference) {\n%s}\n</style>\n", style, animation(moments, now))
	fmt.Fprintf(&out, "<rect class=\"screen\" x=\"0.5\" y=\"0.5\" width=\"%.0f\" height=\"%d\" rx=\"8\"/>\n", width-1, height-1)
	for i := range 3 {
		fmt.Fprintf(&out, "<circle class=\"dots\" cx=\"%d\" cy=\"18\" r=\"5\"/>\n", left+6+i*18)
	}
	out.WriteString(body.String())
	out.WriteString("</svg>\n")
	return out.String()
}

// animation returns the rules that show each moment from its time to the end of its chapter. All of them take as long as the
// whole demo, and begin again together.
func animation(moments []moment, total time.Duration) string {
	var rules strings.Builder
	percent := func(at time.Duration) string { return fmt.Sprintf("%.2f%%", 100*at.Seconds()/total.Seconds()) }
	for _, m := range moments {
		fmt.Fprintf(&rules, "#%s { visibility: hidden; animation: %s %.1fs step-end infinite }\n", m.name, m.name, total.Seconds())
		fmt.Fprintf(&rules, "@keyframes %s { 0%% { visibility: hidden } %s { visibility: visible } %s { visibility: hidden } }\n",
			m.name, percent(m.appears), percent(m.chapterEnds))
	}
	return rules.String()
}

// rows returns the number of rows of a chapter, with its title.
func (c chapter) rows() int {
	rows := 1
	for _, s := range c.steps {
		rows += len(s.lines)
	}
	return rows
}

func titles(chapters []chapter) string {
	var all []string
	for _, c := range chapters {
		all = append(all, c.title)
	}
	return strings.Join(all, ". ") + "."
}
