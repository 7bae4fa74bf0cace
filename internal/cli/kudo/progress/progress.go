package progress

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"holdfast.dev/holdfast/api"
)

// Show shows the status of a plan. It is called with every new status of one run. It is not
// safe for concurrent use.
type Show func(api.PlanStatus) error

// New returns Live if out is a terminal, else Lines.
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

// Lines returns a Show that prints a line for each plan, phase and step with a changed state or
// message: the path, the state and the message.
func Lines(out io.Writer) Show {
	shown := map[string]string{}
	return func(status api.PlanStatus) error {
		var failed error
		print := func(path string, state api.State, message string) {
			text := line("", path, state, message)
			if shown[path] == text || failed != nil {
				return
			}
			shown[path] = text
			_, failed = fmt.Fprintln(out, text)
		}
		for _, phase := range status.Phases {
			for _, step := range phase.Steps {
				print(strings.Join([]string{status.Name, phase.Name, step.Name}, "/"), step.Status, step.Message)
			}
			print(status.Name+"/"+phase.Name, phase.Status, own(phase.Message, phase.Steps))
		}
		print(status.Name, status.Status, ownOfPlan(status))
		return failed
	}
}

// Live returns a Show that draws the tree over the previous one. Lines are cut to the width of
// the terminal, because the rest of a wrapped line would not be overwritten. A width of 0
// means that it is unknown; lines are then not cut.
func Live(out io.Writer, width func() int) Show {
	drawn := 0
	return func(status api.PlanStatus) error {
		text := &strings.Builder{}
		if drawn > 0 {
			// Move the cursor up to the first line and clear to the end of the screen.
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

// cut returns a line that is shorter than the width.
func cut(line string, width int) string {
	runes := []rune(line)
	if width <= 1 || len(runes) < width {
		return line
	}
	return string(runes[:width-2]) + "…"
}
