package progress

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"holdfast.dev/holdfast/operator/api"
)

// Show shows a status, again and again. It is for one run of a plan and one
// goroutine.
type Show func(api.PlanStatus) error

// New is Live for a terminal, Lines for anything else.
func New(out io.Writer) Show {
	file, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return Lines(out)
	}
	return Live(out, func() int {
		width, _, err := term.GetSize(int(file.Fd()))
		if err != nil {
			return 0
		}
		return width
	})
}

// Lines writes a line for each plan, phase and step whose state or message is
// another than before: the path, the state and the message.
func Lines(out io.Writer) Show {
	shown := map[string]string{}
	return func(status api.PlanStatus) error {
		var failed error
		say := func(path string, state api.State, message string) {
			text := line("", path, state, message)
			if shown[path] == text || failed != nil {
				return
			}
			shown[path] = text
			_, failed = fmt.Fprintln(out, text)
		}
		for _, phase := range status.Phases {
			for _, step := range phase.Steps {
				say(strings.Join([]string{status.Name, phase.Name, step.Name}, "/"), step.Status, step.Message)
			}
			say(status.Name+"/"+phase.Name, phase.Status, phase.Message)
		}
		say(status.Name, status.Status, status.Message)
		return failed
	}
}

// Live draws the tree over the one it drew before. Lines are cut to the width
// of the terminal, 0 for any: one that wraps would leave parts of itself behind.
func Live(out io.Writer, width func() int) Show {
	drawn := 0
	return func(status api.PlanStatus) error {
		text := &strings.Builder{}
		if drawn > 0 {
			// Up by the lines there are, and clear to the end of the screen.
			fmt.Fprintf(text, "\x1b[%dA\x1b[J", drawn)
		}
		lines := Tree(status)
		for _, line := range lines {
			text.WriteString(cut(line, width()) + "\n")
		}
		drawn = len(lines)
		_, err := io.WriteString(out, text.String())
		return err
	}
}

func cut(line string, width int) string {
	runes := []rune(line)
	if width <= 1 || len(runes) < width {
		return line
	}
	return string(runes[:width-2]) + "…"
}
