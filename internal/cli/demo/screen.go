package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// Escape sequences of terminals.
const (
	bold   = "\x1b[1m"
	dim    = "\x1b[2m"
	yellow = "\x1b[33m"
	reset  = "\x1b[0m"
)

// ctrlC is the key that a terminal in raw mode sends for Ctrl-C.
const ctrlC = 3

// width is where explanations are broken.
const width = 100

// screen prints the demo.
type screen struct {
	out    io.Writer
	colour bool
	// keys is where keys are read from, nil if the demo does not wait.
	keys io.Reader
}

// newScreen returns a screen that has colours if out is a terminal, unless the user has set
// NO_COLOR (https://no-color.org).
func newScreen(out io.Writer) *screen {
	file, ok := out.(*os.File)
	return &screen{out: out, colour: ok && term.IsTerminal(int(file.Fd())) && os.Getenv("NO_COLOR") == ""}
}

func (s *screen) print(style, text string) {
	if s.colour && style != "" {
		text = style + text + reset
	}
	_, _ = fmt.Fprintln(s.out, text)
}

func (s *screen) title(text string) {
	_, _ = fmt.Fprintln(s.out)
	s.print(bold, text)
}

// text prints an explanation.
func (s *screen) text(format string, args ...any) {
	line := "#"
	for _, word := range strings.Fields(fmt.Sprintf(format, args...)) {
		if len(line)+1+len(word) > width {
			s.print(dim, line)
			line = "#"
		}
		line += " " + word
	}
	s.print(dim, line)
}

func (s *screen) command(line string) { s.print(bold, "$ "+line) }

// answer prints the output of a command. Warnings and refusals stand out.
func (s *screen) answer(text string) {
	for line := range strings.Lines(text) {
		style := ""
		if strings.HasPrefix(line, "Warning:") || strings.Contains(line, "Error from server") || strings.Contains(line, "is invalid:") {
			style = yellow
		}
		s.print(style, strings.TrimRight(line, "\n"))
	}
}

// wait waits for a key, if the user asked for that. If the keys come from a terminal, any key
// counts. Otherwise it reads a line.
func (s *screen) wait(ctx context.Context) error {
	if s.keys == nil {
		return nil
	}
	read := make(chan error, 1)
	go func() { read <- s.readKey() }()
	select {
	case err := <-read:
		if errors.Is(err, io.EOF) {
			return nil
		}
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *screen) readKey() error {
	file, ok := s.keys.(*os.File)
	raw := ok && term.IsTerminal(int(file.Fd()))
	if raw {
		state, err := term.MakeRaw(int(file.Fd()))
		if err != nil {
			return err
		}
		defer func() { _ = term.Restore(int(file.Fd()), state) }()
	}
	key := make([]byte, 1)
	for {
		if _, err := io.ReadFull(s.keys, key); err != nil {
			return err
		}
		switch {
		case raw && key[0] == ctrlC:
			return context.Canceled
		case raw || key[0] == '\n':
			return nil
		}
	}
}
