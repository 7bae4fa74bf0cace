package immutability

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// segment is one step of the path of a rule.
type segment struct {
	kind segmentKind
	name string
}

type segmentKind uint8

const (
	nameSegment  segmentKind = iota
	valueSegment             // * : every value of a map
	itemSegment              // [*] : every item of a list
)

// parsePath reads the path of a rule.
func parsePath(path string) ([]segment, error) {
	if path == "" {
		return nil, errors.New("the path is empty")
	}
	var segments []segment
	for rest := path; rest != ""; {
		var s segment
		var err error
		s, rest, err = parseSegment(rest, len(segments) == 0)
		if err != nil {
			return nil, err
		}
		segments = append(segments, s)
	}
	return segments, nil
}

// parseSegment reads the segment that text begins with; only the first of a path
// may be a name without a dot before it.
func parseSegment(text string, first bool) (s segment, rest string, err error) {
	if after, found := strings.CutPrefix(text, "[*]"); found {
		return segment{kind: itemSegment}, after, nil
	}
	if after, found := strings.CutPrefix(text, "["); found {
		return parseQuoted(after)
	}
	after, dotted := strings.CutPrefix(text, ".")
	if dotted == first {
		return s, "", fmt.Errorf("at %q: want names with one dot between them", text)
	}
	end := strings.IndexAny(after, ".[")
	if end < 0 {
		end = len(after)
	}
	name, rest := after[:end], after[end:]
	switch name {
	case "":
		return s, "", fmt.Errorf("at %q: want a name", text)
	case "*":
		return segment{kind: valueSegment}, rest, nil
	}
	return segment{name: name}, rest, nil
}

func parseQuoted(text string) (s segment, rest string, err error) {
	quoted, err := strconv.QuotedPrefix(text)
	if err != nil {
		return s, "", fmt.Errorf("at %q: want [*] or a quoted name", "["+text)
	}
	rest, closed := strings.CutPrefix(text[len(quoted):], "]")
	if !closed {
		return s, "", fmt.Errorf("at %q: want a closing bracket", "["+text)
	}
	name, err := strconv.Unquote(quoted)
	if err != nil {
		return s, "", fmt.Errorf("at %q: %w", "["+text, err)
	}
	return segment{name: name}, rest, nil
}
