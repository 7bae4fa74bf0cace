package ownership

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ParsePath reads a path as Path.String writes it. The first dot may be left out,
// and so may the quotes around the keys of an item: containers[name=web].image.
func ParsePath(text string) (Path, error) {
	var path Path
	rest := text
	if rest != "" && rest[0] != '.' && rest[0] != '[' {
		rest = "." + rest
	}
	for rest != "" {
		step, left, err := parseStep(rest)
		if err != nil {
			return nil, fmt.Errorf("field %q: at %q: %w", text, rest, err)
		}
		path, rest = append(path, step), left
	}
	if len(path) == 0 {
		return nil, errors.New("field: required")
	}
	return path, nil
}

func parseStep(text string) (step Step, rest string, err error) {
	if text[0] == '.' {
		end := strings.IndexAny(text[1:], ".[") + 1
		if end == 0 {
			end = len(text)
		}
		if end == 1 {
			return step, "", errors.New("a name must follow the dot")
		}
		return Step{Name: text[1:end]}, text[end:], nil
	}
	if text[0] != '[' {
		return step, "", errors.New("must go on with a dot or a bracket")
	}
	text = text[1:]
	switch {
	case strings.HasPrefix(text, `"`):
		step.Name, rest, err = quoted(text)
	case strings.HasPrefix(text, "="):
		step.Member, rest, err = scalar(text[1:])
	default:
		step, rest, err = parseKeys(text)
	}
	if err != nil {
		return step, "", err
	}
	if !strings.HasPrefix(rest, "]") {
		return step, "", errors.New("the bracket is not closed")
	}
	return step, rest[1:], nil
}

// parseKeys reads name="web",protocol="TCP" up to the closing bracket.
func parseKeys(text string) (step Step, rest string, err error) {
	step.Item = map[string]any{}
	for {
		key, after, ok := strings.Cut(text, "=")
		if !ok || key == "" || strings.ContainsAny(key, `]",`) {
			return step, "", errors.New("an item is named by its keys, as in [name=\"web\"]")
		}
		value, left, err := scalar(after)
		if err != nil {
			return step, "", err
		}
		step.Keys, step.Item[key] = append(step.Keys, key), value
		if !strings.HasPrefix(left, ",") {
			return step, left, nil
		}
		text = left[1:]
	}
}

// scalar reads a quoted string, a number, true or false, or a bare word.
func scalar(text string) (value any, rest string, err error) {
	if strings.HasPrefix(text, `"`) {
		return quoted(text)
	}
	end := strings.IndexAny(text, ",]")
	if end <= 0 {
		return nil, "", errors.New("a value must follow the equals sign, and a closing bracket the value")
	}
	word := text[:end]
	if number, err := strconv.ParseInt(word, 10, 64); err == nil {
		return number, text[end:], nil
	}
	if word == "true" || word == "false" {
		return word == "true", text[end:], nil
	}
	return word, text[end:], nil
}

func quoted(text string) (value string, rest string, err error) {
	prefix, err := strconv.QuotedPrefix(text)
	if err != nil {
		return "", "", errors.New("the quote is not closed")
	}
	if value, err = strconv.Unquote(prefix); err != nil {
		return "", "", err
	}
	return value, text[len(prefix):], nil
}
