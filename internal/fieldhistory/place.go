package fieldhistory

import (
	"strings"
	"unicode/utf8"

	"holdfast.dev/holdfast/ownership"
	"holdfast.dev/holdfast/value"
)

// maxText is the largest length of the text of a path, and maxName that of a name in it. Diff takes the object or the list around a
// longer one as one value, because the text could not be read back.
const (
	maxText = 900
	maxName = 320
)

// maxSteps is the largest number of steps of a path. Diff compares the values around a field too, once for each step, so a value that a
// client has nested deeply must not be compared as often as it has levels.
const maxSteps = 64

// place is a place in both contents.
type place struct {
	path  *value.Path
	lists ownership.Lists
	// index is the position of an item of a list that only one of the contents has.
	index *int
	// steps is the number of steps of the path, and most the largest size that its text can have.
	steps, most int
}

func (p place) field(name string) place {
	return place{path: p.path.Child(name), lists: p.lists.Field(name), steps: p.steps + 1, most: p.most + maxEscaped*len(name) + len(`[""]`)}
}

func (p place) item(index int, v any) place {
	step := value.Step{Kind: value.Item, Keys: p.lists.Keys(), Value: v}
	return place{path: p.path.Append(step), lists: p.lists.Item(), index: &index, steps: p.steps + 1, most: maxText + 1}
}

// maxEscaped is the largest size of a character of a name in the text of a path, for each of its bytes.
const maxEscaped = 6

// isReadable reports whether the text of the path of a field can be read back. It builds the text of long paths only.
func (p place) isReadable() bool {
	last := p.path.Last()
	if last.Kind == value.Name && p.most <= maxText && p.steps <= maxSteps && len(last.Name) <= maxName {
		return utf8.ValidString(last.Name) && !strings.Contains(last.Name, "…")
	}
	_, ok := p.text()
	return ok
}

// text returns the text of the path. ok is false if it cannot be read back.
func (p place) text() (text string, ok bool) {
	last := p.path.Last()
	if p.steps > maxSteps {
		return "", false
	}
	if last.Kind == value.Name && (len(last.Name) > maxName || !utf8.ValidString(last.Name)) {
		return "", false
	}
	text = notation.Path(p.path)
	return text, len(text) <= maxText && !strings.Contains(text, "…")
}

// notation writes paths so that value.ParsePath reads them back.
var notation = value.Notation{LeadingDot: true, Values: value.Printer{Limit: maxText, LiteralHTML: true}}

// identity returns the fields by which the object at a place is found: the keys of an item, and nothing for others.
func (p place) identity(object map[string]any) map[string]any {
	out := map[string]any{}
	for _, key := range p.path.Last().Keys {
		out[key] = object[key]
	}
	return out
}
