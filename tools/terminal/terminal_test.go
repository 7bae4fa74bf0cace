package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
)

const demo = `# A server starts in a folder.

1. Fields
# An explanation.
$ holdfast create -f widget.yaml
Warning: unknown field "spec.wieght"
widget.example.com/anchor created

2. Values
# Another one.
$ holdfast patch widget anchor -p '{"a":"<b>"}'
Error from server (BadRequest): no

3. Last
$ holdfast get
1. not a title
{}

That was all, in 7 seconds.
`

func TestParse(t *testing.T) {
	all, err := parse(demo)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, c := range all {
		got.WriteString("= " + c.title + "\n")
		for _, s := range c.steps {
			got.WriteString("-\n")
			for _, l := range s.lines {
				got.WriteString(l.class + ": " + l.text + "\n")
			}
		}
	}
	const want = `= 1. Fields
-
text: # An explanation.
-
command: $ holdfast create -f widget.yaml
warning: Warning: unknown field "spec.wieght"
answer: widget.example.com/anchor created
= 2. Values
-
text: # Another one.
-
command: $ holdfast patch widget anchor -p '{"a":"<b>"}'
refusal: Error from server (BadRequest): no
= 3. Last
-
command: $ holdfast get
answer: 1. not a title
answer: {}
`
	if got.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", got.String(), want)
	}
	for _, bad := range []string{"", "no chapter\n", "1. Title\n\n2. Title\n$ a\n"} {
		if _, err := parse(bad); err == nil {
			t.Errorf("no error for %q", bad)
		}
	}
}

func TestWrap(t *testing.T) {
	words := strings.Repeat("twelve chars ", 20)
	tests := map[string]int{"": 1, "short": 1, words: 3, strings.Repeat("x", 2*columns+1): 3, strings.Repeat("é", columns): 1}
	for text, want := range tests {
		lines := wrap("answer", text)
		if len(lines) != want {
			t.Errorf("%q: got %d lines, want %d", text, len(lines), want)
		}
		joined := ""
		for _, l := range lines {
			if n := len([]rune(l.text)); n > columns {
				t.Errorf("a line of %d characters: %q", n, l.text)
			}
			joined += strings.ReplaceAll(l.text, " ", "")
		}
		if joined != strings.ReplaceAll(text, " ", "") {
			t.Errorf("%q became %q", text, joined)
		}
	}
}

// TestDraw checks that the picture is well-formed, has the chapters that were asked for and no others, shows one of them
// without animation, and loads nothing from outside.
func TestDraw(t *testing.T) {
	var out, again strings.Builder
	if err := run(&out, demo, 2, 2); err != nil {
		t.Fatal(err)
	}
	if err := run(&again, demo, 2, 2); err != nil || out.String() != again.String() {
		t.Errorf("another picture of the same text: %v", err)
	}
	for decoder := xml.NewDecoder(strings.NewReader(out.String())); ; {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"&lt;b&gt;", "prefers-color-scheme: dark", "prefers-reduced-motion: no-preference", "1. Fields. 2. Values."} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the picture does not have %q", want)
		}
	}
	if strings.Contains(out.String(), "3. Last") {
		t.Error("the picture has a chapter that was not asked for")
	}
	outside := regexp.MustCompile(`<script|href|url\(|@import|https?://`)
	if found := outside.FindAllString(strings.ReplaceAll(out.String(), "http://www.w3.org/2000/svg", ""), -1); found != nil {
		t.Errorf("the picture loads %q", found)
	}
	for group := range strings.SplitSeq(out.String(), "<g ") {
		name, _, _ := strings.Cut(group, "</g>")
		if strings.Contains(name, "chapter still") != (strings.Contains(name, "Values") || strings.Contains(name, "Another") || strings.Contains(name, "patch")) &&
			strings.HasPrefix(name, "id=") {
			t.Errorf("shown without animation, or not: %s", name)
		}
	}
	for _, flags := range [][2]int{{0, 1}, {4, 1}, {2, 3}, {2, 0}} {
		if err := run(&out, demo, flags[0], flags[1]); err == nil {
			t.Errorf("no error for the chapters %v", flags)
		}
	}
}

// TestCommitted checks that the picture in README is that of the recorded demo, which `make test` compares with the output of
// the program.
func TestCommitted(t *testing.T) {
	text, err := os.ReadFile("../../docs/demo.txt")
	if err != nil {
		t.Fatal(err)
	}
	committed, err := os.ReadFile("../../docs/demo.svg")
	if err != nil {
		t.Fatal(err)
	}
	var drawn strings.Builder
	if err := run(&drawn, string(text), 5, 2); err != nil {
		t.Fatal(err)
	}
	if drawn.String() != string(committed) {
		t.Error("docs/demo.svg is not what docs/demo.txt gives: run make generate")
	}
}
