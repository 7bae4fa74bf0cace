package kubectl_test

import (
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// documentCommand is a command in a document.
type documentCommand struct {
	line int
	text string
	// want is the output, if checked is set.
	want    string
	checked bool
}

// fence begins a block, with its language, or ends one. The word slow after the language says
// that the commands take minutes.
var fence = regexp.MustCompile("^( *)```([a-z]*( slow)?)$")

// parseDocument returns the commands of a document.
func parseDocument(text string) ([]documentCommand, error) {
	var all []documentCommand
	language, indent, begin := "", "", 0
	var block []string
	for i, line := range strings.Split(text, "\n") {
		found := fence.FindStringSubmatch(line)
		switch {
		case found != nil && begin == 0:
			language, indent, begin, block = found[2], found[1], i+1, nil
			if language == "" {
				return nil, fmt.Errorf("line %d: the block has no language, such as sh, console, yaml or text", begin)
			}
		case found != nil:
			commands, err := parseBlock(language, block)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", begin, err)
			}
			for _, c := range commands {
				c.line += begin
				all = append(all, c)
			}
			begin = 0
		case begin > 0:
			block = append(block, strings.TrimPrefix(line, indent))
		}
	}
	if begin > 0 {
		return nil, fmt.Errorf("line %d: the block has no end", begin)
	}
	return all, nil
}

// parseBlock returns the commands of a block, with line numbers that begin at 1.
func parseBlock(language string, lines []string) ([]documentCommand, error) {
	if language != "sh" && language != "console" {
		return nil, nil
	}
	var commands []documentCommand
	for i := 0; i < len(lines); {
		c := documentCommand{line: i + 1, text: lines[i], checked: language == "console"}
		if c.checked {
			var ok bool
			if c.text, ok = strings.CutPrefix(lines[i], "$ "); !ok {
				return nil, fmt.Errorf("output without a command: %s", lines[i])
			}
		}
		i++
		for !isComplete(c.text) {
			if i == len(lines) {
				return nil, fmt.Errorf("the command has no end: %s", c.text)
			}
			c.text += "\n" + lines[i]
			i++
		}
		for c.checked && i < len(lines) && !strings.HasPrefix(lines[i], "$ ") {
			c.want += lines[i] + "\n"
			i++
		}
		if strings.TrimSpace(c.text) != "" {
			commands = append(commands, c)
		}
	}
	return commands, nil
}

// isComplete reports whether a text is a whole command of the shell.
func isComplete(text string) bool {
	if strings.HasSuffix(text, `\`) {
		return false
	}
	// Bash says so on stderr, in these words. A missing end of a here-document is only a warning.
	out, _ := exec.Command("bash", "-n", "-c", text).CombinedOutput()
	incomplete := []string{"unexpected end of file", "unexpected EOF", "delimited by end-of-file"}
	return !slices.ContainsFunc(incomplete, func(message string) bool { return strings.Contains(string(out), message) })
}

func TestParseDocument(t *testing.T) {
	const text = "Text\n```sh\na\nb <<'EOF'\nc\nEOF\n```\n\n- item:\n\n  ```console\n" +
		"  $ d 'e\n    f'\n  out\n  $ g \\\n    h\n  ```\n```yaml\ni: j\n```\n```sh slow\nk\n```\n"
	want := []documentCommand{
		{line: 3, text: "a"},
		{line: 4, text: "b <<'EOF'\nc\nEOF"},
		{line: 12, text: "d 'e\n  f'", want: "out\n", checked: true},
		{line: 15, text: "g \\\n  h", checked: true},
	}
	got, err := parseDocument(text)
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(documentCommand{})); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	for _, bad := range []string{"```console\nout\n```\n", "```sh\na 'b\n```\n", "```sh\na\n", "```\na\n```\n"} {
		if _, err := parseDocument(bad); err == nil {
			t.Errorf("no error for %q", bad)
		}
	}
}

func TestMatches(t *testing.T) {
	tests := map[string]struct {
		want, got string
		match     bool
	}{
		"equal":        {"a b\n", "a b\n", true},
		"columns":      {"NAME  AGE\nweb  3s\n", "NAME   AGE\nweb    1m\n", true},
		"time":         {"at 2026-01-02T03:04:05Z\n", "at 2027-11-16T15:16:17Z\n", true},
		"lines":        {"a\n...\nd\n", "a\nb\nc\nd\n", true},
		"part":         {"serial ...\n", "serial x\n", true},
		"other":        {"a\n", "b\n", false},
		"more":         {"a\n", "a\nb\n", false},
		"no output":    {"", "a\n", false},
		"less":         {"a\nb\n", "a\n", false},
		"other number": {"3 pods\n", "4 pods\n", false},
	}
	for name, test := range tests {
		if got := matches(test.want, test.got); got != test.match {
			t.Errorf("%s: got %t", name, got)
		}
	}
}
