// Command picture draws the boxes of a text as SVG: a column of steps, each with the answer that
// ends the path at its side.
//
//	go -C tools run ./picture < docs/write.txt > docs/write.svg
//
// A line of the text is "kind | title | text | answer"; lines that begin with # are comments. The
// picture has no scripts, fonts or other outside resources, and follows the colours of the page,
// light or dark.
package main

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"os"
	"strings"
)

// The geometry, in pixels.
const (
	width, boxWidth = 780, 520
	boxHeight, gap  = 46, 20
	left, top       = 20, 16
	textLeft        = left + 16
	answerLeft      = left + boxWidth + 46
)

const style = `<style>
text { font: 14px system-ui, sans-serif; fill: #1f2328 }
.title { font-weight: 600 }
.text { fill: #59636e; font-size: 12.5px }
.answer { fill: #a40e26; font-size: 13px }
rect { fill: #f6f8fa; stroke: #818b98; stroke-width: 1.2 }
.protection rect { fill: #ddf4ff; stroke: #0969da; stroke-width: 2 }
.client rect, .store rect { fill: #fff; stroke-dasharray: 4 3 }
path { stroke: #818b98; stroke-width: 1.5; fill: none }
.end { stroke: #a40e26; stroke-dasharray: 3 3 }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc } .text { fill: #9198a1 } .answer { fill: #ff818e }
rect { fill: #151b23 } .protection rect { fill: #0d2d4d; stroke: #4493f8 } .client rect, .store rect { fill: #0d1117 }
.end { stroke: #ff818e }
}
</style>
`

// box is a line of the text.
type box struct{ kind, title, text, answer string }

func main() {
	boxes, err := parse(os.Stdin)
	if err == nil {
		err = draw(os.Stdout, boxes)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

// parse reads the boxes of a text.
func parse(from io.Reader) ([]box, error) {
	var boxes []box
	lines := bufio.NewScanner(from)
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.Split(line, "|")
		if len(cells) < 3 || len(cells) > 4 {
			return nil, fmt.Errorf("line %d: want kind | title | text, and an answer if there is one", number)
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		cells = append(cells, "")
		boxes = append(boxes, box{cells[0], cells[1], cells[2], cells[3]})
	}
	return boxes, lines.Err()
}

// draw writes the picture.
func draw(to io.Writer, boxes []box) error {
	height := 2*top + len(boxes)*(boxHeight+gap) - gap
	var svg strings.Builder
	fmt.Fprintf(&svg, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img">`+"\n", width, height, width, height)
	fmt.Fprintf(&svg, "<title>%s</title>\n", describe(boxes))
	svg.WriteString(`<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse">` +
		`<path d="M0 0 L8 4 L0 8 z" style="fill:#818b98"/></marker></defs>` + "\n" + style)
	for i, b := range boxes {
		b.draw(&svg, top+i*(boxHeight+gap))
		if i > 0 {
			y := top + i*(boxHeight+gap)
			fmt.Fprintf(&svg, `<path d="M%d %d V%d" marker-end="url(#arrow)"/>`+"\n", left+boxWidth/2, y-gap, y-1)
		}
	}
	svg.WriteString("</svg>\n")
	_, err := io.WriteString(to, svg.String())
	return err
}

// draw writes one box, with its answer at the side.
func (b box) draw(svg *strings.Builder, y int) {
	fmt.Fprintf(svg, `<g class="%s"><rect x="%d" y="%d" width="%d" height="%d" rx="7"/>`, b.kind, left, y, boxWidth, boxHeight)
	fmt.Fprintf(svg, `<text class="title" x="%d" y="%d">%s</text>`, textLeft, y+20, html.EscapeString(b.title))
	fmt.Fprintf(svg, `<text class="text" x="%d" y="%d">%s</text></g>`+"\n", textLeft, y+37, html.EscapeString(b.text))
	if b.answer != "" {
		middle := y + boxHeight/2
		fmt.Fprintf(svg, `<path class="end" d="M%d %d H%d" marker-end="url(#arrow)"/>`, left+boxWidth, middle, answerLeft-8)
		fmt.Fprintf(svg, `<text class="answer" x="%d" y="%d">%s</text>`+"\n", answerLeft, middle+5, html.EscapeString(b.answer))
	}
}

// describe returns the picture in words, for readers that do not see it.
func describe(boxes []box) string {
	var titles []string
	for _, b := range boxes {
		titles = append(titles, strings.Join(strings.Fields(b.title), " "))
	}
	return html.EscapeString("A write passes, in this order: " + strings.Join(titles, "; "))
}
