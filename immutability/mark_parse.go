package immutability

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"holdfast.dev/holdfast/value"
)

// ParseMarks reads the text of the annotation. The error names every line that is wrong.
func ParseMarks(text string) ([]Mark, error) {
	var marks []Mark
	var wrong []error
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		m, err := ParseMark(line)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("line %d: %w", number, err))
			continue
		}
		marks = append(marks, m)
	}
	return marks, errors.Join(wrong...)
}

// ParseMark reads one rule.
func ParseMark(line string) (Mark, error) {
	var m Mark
	first, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	if versions, ok := strings.CutSuffix(first, ":"); ok {
		m.Versions = strings.Split(versions, ",")
		if slices.Contains(m.Versions, "") {
			return m, errors.New("a version before the colon is empty")
		}
		first, rest, _ = strings.Cut(strings.TrimSpace(rest), " ")
	}
	if first != noDelete {
		var err error
		if m.Marker, err = ParseWord(first); err != nil {
			return m, err
		}
		var path string
		path, rest = cutPath(rest)
		if m.Path, err = parseRulePath(path); err != nil {
			return m, err
		}
		if err := m.validatePath(); err != nil {
			return m, err
		}
	}
	return m, m.parseCondition(rest)
}

// maxWord is the maximum length of a wrong word in a message.
const maxWord = 40

// ParseWord returns the marker that a rule names: set-once, or update=NoSet,NoModify.
func ParseWord(word string) (Marker, error) {
	if list, ok := strings.CutPrefix(word, "update="); ok {
		m, wrong := markerOfNames(strings.Split(list, ","))
		if wrong != "" {
			return Free, fmt.Errorf("update: %s", wrong)
		}
		return m.reduced(), nil
	}
	var words []string
	for _, each := range named {
		if each.word == word {
			return each.marker, nil
		}
		words = append(words, each.word)
	}
	return Free, fmt.Errorf("%q: must be %s, %s or update=", value.CutBytes(word, maxWord), strings.Join(words, ", "), noDelete)
}

// cutPath splits a rule after its path. A blank inside of ["..."] belongs to the path.
func cutPath(text string) (path, rest string) {
	text = strings.TrimSpace(text)
	quoted := false
	for i := 0; i < len(text); i++ {
		switch {
		case quoted && text[i] == '\\':
			i++
		case text[i] == '"':
			quoted = !quoted
		case !quoted && (text[i] == ' ' || text[i] == '\t'):
			return text[:i], text[i:]
		}
	}
	return text, ""
}

// parseCondition reads what follows the path of a rule.
func (m *Mark) parseCondition(text string) error {
	word, rest := cutWord(text)
	if word == "unless" {
		m.Unless, rest = cutWord(rest)
		if err := validateVerb(m.Unless); err != nil {
			return err
		}
		word, rest = cutWord(rest)
	}
	switch {
	case word == "":
		return nil
	case word != "while" && m.IsNoDelete():
		return fmt.Errorf("after %s at %q: want unless VERB, while EXPRESSION, or the end of the line; the rule has no path",
			noDelete, value.CutBytes(word, maxWord))
	case word != "while":
		return fmt.Errorf("after the path at %q: want unless VERB, while EXPRESSION, or the end of the line", value.CutBytes(word, maxWord))
	}
	if m.While = strings.TrimSpace(rest); m.While == "" {
		return errors.New("while: the expression is empty")
	}
	return nil
}

// cutWord returns the first word of a text, and the rest.
func cutWord(text string) (word, rest string) {
	text = strings.TrimSpace(text)
	if i := strings.IndexAny(text, " \t"); i >= 0 {
		return text[:i], text[i:]
	}
	return text, ""
}

// takenVerbs are verbs with a meaning of their own, which no rule may give another.
var takenVerbs = []string{
	"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "proxy", "connect",
	"use", "bind", "escalate", "impersonate", "approve", "sign", "attest", "unlock", "loosen",
}

func validateVerb(verb string) error {
	switch {
	case verb == "" || strings.Trim(verb, "abcdefghijklmnopqrstuvwxyz") != "":
		return fmt.Errorf("unless %q: want a verb of lower-case letters", value.CutBytes(verb, maxWord))
	case slices.Contains(takenVerbs, verb):
		return fmt.Errorf("unless %s: this verb has a meaning already, choose another", verb)
	}
	return nil
}

// validatePath returns an error for a path in the metadata that no rule may have.
func (m Mark) validatePath() error {
	steps := m.Path.Steps()
	if steps[0].Name != "metadata" {
		return nil
	}
	isMap := len(steps) > 1 && (steps[1].Name == "labels" || steps[1].Name == "annotations")
	switch {
	case !isMap || len(steps) > 3:
		return fmt.Errorf("%s: in metadata, a rule is about labels, annotations, or one key of them", m.Path)
	case len(steps) == 2:
		return nil
	case steps[2].Kind != value.Name:
		return fmt.Errorf("%s: name one key, or leave it out for all keys", m.Path)
	case isReservedKey(steps[2].Name):
		return fmt.Errorf("%s: no rule may be about this key, programs keep their own state there", m.Path)
	case m.Marker.has(ImmutableKeys):
		return fmt.Errorf("%s: %s needs keys, and this is a text", m.Path, m.Marker.Word())
	}
	return nil
}
