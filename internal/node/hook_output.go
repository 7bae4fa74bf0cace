package node

import (
	"fmt"
	"strings"
	"unicode"
)

const (
	// keptOutput is the number of bytes at the end of a hook's output that the agent logs.
	keptOutput = 4096
	// eventLines and eventOutput limit the output in an Event.
	eventLines  = 5
	eventOutput = 500
)

// outputTail keeps the end of the output of a hook, and counts its bytes.
type outputTail struct {
	kept  []byte
	total int
}

// Write implements io.Writer.
func (o *outputTail) Write(data []byte) (int, error) {
	o.total += len(data)
	o.kept = append(o.kept, data[max(len(data)-keptOutput, 0):]...)
	o.kept = o.kept[max(len(o.kept)-keptOutput, 0):]
	return len(data), nil
}

// text returns the end of the output without control characters. It returns none of the
// output if the volume contains Secrets: the hook may have printed one.
func (o *outputTail) text(secret secrecy) string {
	switch {
	case o.total == 0:
		return ""
	case bool(secret):
		return fmt.Sprintf("(%d bytes of output, not shown because the volume contains Secrets)", o.total)
	}
	printable := strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(string(o.kept), ""))
	return strings.TrimSpace(printable)
}

// lastLines returns the last lines of a text, for an Event.
func lastLines(text string) string {
	lines := strings.Split(text, "\n")
	text = strings.Join(lines[max(len(lines)-eventLines, 0):], "\n")
	return strings.ToValidUTF8(text[max(len(text)-eventOutput, 0):], "")
}
