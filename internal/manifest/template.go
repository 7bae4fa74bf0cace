package manifest

import "bytes"

// SplitTemplate returns the documents of a file as [Split] does. If the file has actions of Go templates, as the files of
// a Helm chart have, it reads the text without the actions that are outside of the top-level field spec: those around an
// object and in its metadata. Of the branches of an if, it reads the first. Positions are those in the file, and an edit
// keeps the actions.
func SplitTemplate(file string, data []byte) []*Document {
	if !bytes.Contains(data, actionOpen) {
		return Split(file, data)
	}
	documents := Split(file, withoutActions(data))
	for _, d := range documents {
		d.source = data[d.Start:d.End]
	}
	return documents
}

// Source returns the text of the document in the file, with the actions of templates.
func (d *Document) Source() []byte {
	if d.source != nil {
		return d.source
	}
	return d.Text
}

// IsTemplate reports whether the document has actions of Go templates.
func (d *Document) IsTemplate() bool { return bytes.Contains(d.Source(), actionOpen) }

var (
	actionOpen  = []byte("{{")
	actionClose = []byte("}}")
)

// span is a range of bytes.
type span struct{ from, to int }

// action is one action of a template. keyword is its first word, such as if, else and end.
type action struct {
	span
	keyword string
}

// withoutActions returns a text of the same length without the actions outside of spec. Each line keeps its length: the
// text behind an action moves to the left, so that quotes around an action become an empty string, and spaces follow.
func withoutActions(data []byte) []byte {
	remove := make([]bool, len(data))
	mark := func(s span) {
		for i := s.from; i < s.to; i++ {
			remove[i] = true
		}
	}
	specs := specsOf(data)
	outside := func(a action) bool {
		for _, s := range specs {
			if a.from >= s.from && a.from < s.to {
				return false
			}
		}
		return true
	}
	actions := actionsOf(data)
	for _, a := range actions {
		if outside(a) {
			mark(a.span)
		}
	}
	for _, branch := range otherBranches(actions, outside) {
		mark(branch)
	}
	out := make([]byte, 0, len(data))
	for start := 0; start < len(data); {
		end := len(data)
		if newline := bytes.IndexByte(data[start:], '\n'); newline >= 0 {
			end = start + newline + 1
		}
		line := bytes.TrimRight(data[start:end], "\r\n")
		for i := range line {
			if !remove[start+i] {
				out = append(out, line[i])
			}
		}
		out = append(out, bytes.Repeat([]byte(" "), start+len(line)-len(out))...)
		out = append(out, data[start+len(line):end]...)
		start = end
	}
	return out
}

// actionsOf returns the actions of a text in their order.
func actionsOf(data []byte) []action {
	var found []action
	for at := 0; ; {
		next := bytes.Index(data[at:], actionOpen)
		if next < 0 {
			return found
		}
		from := at + next
		length := actionLength(data[from:])
		if length == 0 {
			at = from + len(actionOpen)
			continue
		}
		at = from + length
		found = append(found, action{span{from, at}, keywordOf(data[from:at])})
	}
}

// keywordOf returns the first word of an action, empty if it does not begin with a letter.
func keywordOf(text []byte) string {
	text = bytes.TrimLeft(text, "{- \t\r\n")
	end := bytes.IndexFunc(text, func(r rune) bool { return r < 'a' || r > 'z' })
	if end < 0 {
		end = len(text)
	}
	return string(text[:end])
}

// actionLength returns the length of the action at the beginning of a text, 0 if it does not end in its document.
func actionLength(text []byte) int {
	if separator := bytes.Index(text, []byte("\n---")); separator >= 0 {
		text = text[:separator]
	}
	for i := len(actionOpen); i < len(text); {
		switch rest := text[i:]; {
		case bytes.HasPrefix(rest, actionClose):
			return i + len(actionClose)
		case bytes.HasPrefix(rest, []byte("/*")):
			end := bytes.Index(rest, []byte("*/"))
			if end < 0 {
				return 0
			}
			i += end + len("*/")
		default:
			i += literalLength(rest)
		}
	}
	return 0
}

// literalLength returns the length of the string at the beginning of a text, 1 if there is none. The braces in a string do
// not end an action.
func literalLength(text []byte) int {
	quote := text[0]
	if quote != '"' && quote != '\'' && quote != '`' {
		return 1
	}
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == quote:
			return i + 1
		case quote != '`' && text[i] == '\\':
			i++
		case quote != '`' && text[i] == '\n':
			return 1
		}
	}
	return 1
}

// otherBranches returns the text from the first else of each if to its end. It returns nothing if an end is missing.
func otherBranches(actions []action, outside func(action) bool) []span {
	type block struct{ opens, otherwise action }
	var found []span
	var open []block
	for _, a := range actions {
		switch a.keyword {
		case "if", "with", "range", "define", "block":
			open = append(open, block{opens: a})
		case "else", "end":
			if len(open) == 0 {
				return nil
			}
			innermost := &open[len(open)-1]
			if a.keyword == "else" {
				if innermost.otherwise.to == 0 {
					innermost.otherwise = a
				}
				continue
			}
			if innermost.otherwise.to > 0 && outside(innermost.opens) && outside(innermost.otherwise) && outside(a) {
				found = append(found, span{innermost.otherwise.from, a.to})
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		return nil
	}
	return found
}

// specsOf returns the values of the top-level fields spec. An action at the beginning of a line ends the value, unless
// indented text follows.
func specsOf(data []byte) []span {
	var found []span
	from, end := -1, -1 // of the current value; end is -1 while it goes on
	finish := func(at int) {
		if from >= 0 && end < 0 {
			end = at
		}
		if from >= 0 {
			found = append(found, span{from, end})
		}
		from, end = -1, -1
	}
	start := 0
	for line := range bytes.Lines(data) {
		trimmed := bytes.TrimSpace(line)
		isIndented := line[0] == ' ' || line[0] == '\t'
		switch isAction := bytes.HasPrefix(trimmed, actionOpen); {
		case len(trimmed) == 0 || trimmed[0] == '#':
		case bytes.HasPrefix(line, []byte("spec:")):
			finish(start)
			from = start
		case isIndented && !isAction:
			end = -1
		case isAction && !isIndented && from >= 0 && end < 0:
			end = start
		case !isIndented && !isAction:
			finish(start)
		}
		start += len(line)
	}
	finish(start)
	return found
}
