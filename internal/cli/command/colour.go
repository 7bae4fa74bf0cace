package command

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/printers"
)

// colourFlag is the name of the flag. Programs write it without the u.
const colourFlag = "color"

// colour is the value of --color: auto, always or never.
type colour string

// AddColourFlag adds --color to the root of the commands.
func AddColourFlag(root *cobra.Command) {
	value := colour("auto")
	root.PersistentFlags().Var(&value, colourFlag, "colour of the output: auto (on a terminal, unless NO_COLOR is set), always or never")
}

// String implements pflag.Value.
func (c *colour) String() string { return string(*c) }

// Set implements pflag.Value.
func (c *colour) Set(text string) error {
	switch text {
	case "auto", "always", "never":
		*c = colour(text)
		return nil
	}
	return fmt.Errorf("must be auto, always or never")
}

// Type implements pflag.Value.
func (*colour) Type() string { return "string" }

// Colours returns the values of --color.
func Colours() []string { return []string{"auto", "always", "never"} }

// HasColours reports whether a command prints colours to out.
func HasColours(cmd *cobra.Command, out io.Writer) bool {
	switch value(cmd.Root().PersistentFlags()) {
	case "always":
		return true
	case "never":
		return false
	}
	return printers.AllowsColorOutput(out)
}

func value(flags *pflag.FlagSet) string {
	if flag := flags.Lookup(colourFlag); flag != nil {
		return flag.Value.String()
	}
	return "auto"
}

const (
	bold    = "\x1b[1m"
	red     = "\x1b[31m"
	green   = "\x1b[32m"
	yellow  = "\x1b[33m"
	cyan    = "\x1b[36m"
	noColor = "\x1b[0m"
)

// Diff returns a unified diff for out: with colours, if the command has some.
func Diff(cmd *cobra.Command, out io.Writer, text string) string {
	if !HasColours(cmd, out) {
		return text
	}
	return painted(text, func(line string) string {
		switch {
		case strings.HasPrefix(line, "---"), strings.HasPrefix(line, "+++"):
			return bold
		case strings.HasPrefix(line, "@@"):
			return cyan
		}
		return changed(line)
	})
}

// Plan returns a plan for out, whose lines about objects end in an outcome, and whose other lines are indented: with colours, if the command
// has some.
func Plan(cmd *cobra.Command, out io.Writer, text string) string {
	if !HasColours(cmd, out) {
		return text
	}
	return painted(text, func(line string) string {
		if strings.HasPrefix(line, " ") {
			return changed(strings.TrimLeft(line, " "))
		}
		_, outcome, _ := strings.Cut(line, ": ")
		switch outcome {
		case "created":
			return green
		case "updated in place":
			return yellow
		case "must be replaced", "refused", "unknown":
			return red
		}
		return ""
	})
}

// Refusal returns the text of an error for out: the first line red, if the command has colours.
func Refusal(cmd *cobra.Command, out io.Writer, text string) string {
	if !HasColours(cmd, out) {
		return text
	}
	first, rest, found := strings.Cut(text, "\n")
	if found {
		rest = "\n" + rest
	}
	return red + first + noColor + rest
}

// changed returns the colour of a line about something that is added, removed or changed.
func changed(line string) string {
	switch {
	case strings.HasPrefix(line, "+"):
		return green
	case strings.HasPrefix(line, "-"):
		return red
	case strings.HasPrefix(line, "~"):
		return yellow
	}
	return ""
}

// painted gives each line of a text its colour.
func painted(text string, of func(line string) string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		plain := strings.TrimSuffix(line, "\n")
		colour := of(plain)
		if colour == "" || plain == "" {
			out.WriteString(line)
			continue
		}
		out.WriteString(colour + plain + noColor + line[len(plain):])
	}
	return out.String()
}
