// Command terminal draws what "holdfast demo" prints as a terminal in SVG.
//
//	go -C tools run ./terminal -chapters 5 < docs/demo.txt > docs/demo.svg
//
// The picture shows one chapter after the other, and in each chapter one command after the other with its answer. It has no
// scripts, fonts or other outside resources, and follows the colours of the page, light or dark. A reader that shows no
// animation, or whose user asked for none (prefers-reduced-motion), shows the chapter -still. The same text gives the same bytes.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

// columns is the width of the terminal, in characters.
const columns = 100

// chapter is a screen of the terminal.
type chapter struct {
	title string
	steps []step
}

// step is a part of a chapter that appears at once: the explanation, or a command with its answer.
type step struct {
	lines []line
	// reading is the time before the next step appears.
	reading time.Duration
}

// line is a row of the terminal. Its class is that of the stylesheet.
type line struct{ class, text string }

func main() {
	chapters := flag.Int("chapters", 0, "draw the chapters up to this one")
	still := flag.Int("still", 2, "the chapter that a reader without animation shows")
	flag.Parse()
	text, err := io.ReadAll(os.Stdin)
	if err == nil {
		err = run(os.Stdout, string(text), *chapters, *still)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "terminal:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, text string, last, still int) error {
	all, err := parse(text)
	if err != nil {
		return err
	}
	if last < 1 || last > len(all) || still < 1 || still > last {
		return fmt.Errorf("the text has %d chapters: -chapters is %d and -still is %d", len(all), last, still)
	}
	_, err = io.WriteString(out, draw(all[:last], still-1))
	return err
}

var heading = regexp.MustCompile(`^\d+\. `)

// parse reads the chapters of a demo. A chapter begins with a title and ends with an empty line.
func parse(text string) ([]chapter, error) {
	var all []chapter
	inside := false
	for row := range strings.Lines(text) {
		row = strings.TrimRight(row, "\r\n")
		switch {
		case row == "":
			inside = false
		case !inside && heading.MatchString(row):
			inside = true
			all = append(all, chapter{title: row})
		case inside:
			c := &all[len(all)-1]
			if len(c.steps) == 0 || strings.HasPrefix(row, "$ ") {
				c.steps = append(c.steps, step{})
			}
			s := &c.steps[len(c.steps)-1]
			s.lines = append(s.lines, wrap(classOf(row), row)...)
			s.reading = readingTime(s.lines)
		}
	}
	if len(all) == 0 {
		return nil, errors.New("the text has no chapter: a chapter begins with a number, such as \"1. Title\"")
	}
	for _, c := range all {
		if len(c.steps) == 0 {
			return nil, fmt.Errorf("the chapter %q has no command", c.title)
		}
	}
	return all, nil
}

// classOf returns the class of a row: that of the colour in which "holdfast demo" prints it.
func classOf(row string) string {
	switch {
	case strings.HasPrefix(row, "# "):
		return "text"
	case strings.HasPrefix(row, "$ "):
		return "command"
	case strings.HasPrefix(row, "Warning:"):
		return "warning"
	case strings.HasPrefix(row, "Error from server"), strings.Contains(row, "is invalid:"), strings.HasPrefix(row, "holdfast:"),
		strings.Contains(row, "is immutable but"):
		return "refusal"
	}
	return "answer"
}

// wrap breaks a row between words, so that it fits the terminal. A word that is longer than the terminal is broken too.
func wrap(class, row string) []line {
	var lines []line
	for utf8.RuneCountInString(row) > columns {
		runes := []rune(row)
		end, next := columns, columns
		for i := columns; i > 0; i-- {
			if runes[i] == ' ' {
				end, next = i, i+1
				break
			}
		}
		lines = append(lines, line{class, string(runes[:end])})
		row = strings.TrimLeft(string(runes[next:]), " ")
	}
	return append(lines, line{class, row})
}

// readingTime returns how long a step is shown before the next one.
func readingTime(lines []line) time.Duration {
	length := 0
	for _, l := range lines {
		length += utf8.RuneCountInString(l.text)
	}
	return min(600*time.Millisecond+time.Duration(length)*8*time.Millisecond, 3*time.Second)
}
