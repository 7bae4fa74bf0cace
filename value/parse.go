package value

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ParsePath reads a path as a Notation writes it. The first dot may be left out,
// and so may the quotes around the values of keys: containers[name=web].image. The
// empty text is the nil Path.
func ParsePath(text string) (*Path, error) { return pathReader{}.read(text) }

// ParsePattern reads a path in which * stands for every value of a map and [*]
// for every item of a list: spec.containers[*].image.
func ParsePattern(text string) (*Path, error) { return pathReader{patterns: true}.read(text) }

// pathReader reads the text of a path.
type pathReader struct{ patterns bool }

func (r pathReader) read(text string) (*Path, error) {
	var path *Path
	rest := text
	if rest != "" && rest[0] != '.' && rest[0] != '[' {
		rest = "." + rest
	}
	for rest != "" {
		step, left, err := r.step(rest)
		if err != nil {
			return nil, fmt.Errorf("at %q: %w", rest, err)
		}
		path, rest = path.Append(step), left
	}
	return path, nil
}

func (r pathReader) step(text string) (step Step, rest string, err error) {
	if text[0] == '.' {
		end := strings.IndexAny(text[1:], ".[") + 1
		if end == 0 {
			end = len(text)
		}
		switch name := text[1:end]; {
		case name == "":
			return step, "", errors.New("a name must follow the dot")
		case name == "*" && r.patterns:
			return Step{Kind: AnyName}, text[end:], nil
		default:
			return Step{Name: name}, text[end:], nil
		}
	}
	if text[0] != '[' {
		return step, "", errors.New("must go on with a dot or a bracket")
	}
	if step, rest, err = r.brackets(text[1:]); err != nil {
		return step, "", err
	}
	rest, closed := strings.CutPrefix(rest, "]")
	if !closed {
		return step, "", errors.New("the bracket is not closed")
	}
	return step, rest, nil
}

// brackets reads what follows an opening bracket, up to the closing one.
func (r pathReader) brackets(text string) (step Step, rest string, err error) {
	digits, afterDigits := leadingDigits(text)
	switch {
	case strings.HasPrefix(text, `"`):
		name, rest, err := quotedName(text)
		if err != nil || !strings.HasPrefix(rest, "=") {
			return Step{Name: name}, rest, err
		}
	case strings.HasPrefix(text, "="):
		step.Kind = Member
		step.Value, rest, err = readValue(text[1:])
		return step, rest, err
	case r.patterns && strings.HasPrefix(text, "*]"):
		return Step{Kind: AnyItem}, text[1:], nil
	case digits != "" && strings.HasPrefix(afterDigits, "]"):
		index, err := strconv.Atoi(digits)
		return Step{Kind: Index, Index: index}, afterDigits, err
	}
	return readItem(text)
}

// readItem reads name="http",#2 up to the closing bracket.
func readItem(text string) (step Step, rest string, err error) {
	object := map[string]any{}
	step = Step{Kind: Item, Value: object}
	for {
		if ordinal, found := strings.CutPrefix(text, "#"); found {
			digits, rest := leadingDigits(ordinal)
			number, err := strconv.Atoi(digits)
			if err != nil || number < 1 {
				return step, "", errors.New("the number of an item follows the #, beginning with 1")
			}
			step.Index = number - 1
			return step, rest, nil
		}
		key, after, err := readKey(text)
		if err != nil {
			return step, "", err
		}
		v, left, err := readValue(after)
		if err != nil {
			return step, "", err
		}
		step.Keys, object[key] = append(step.Keys, key), v
		if !strings.HasPrefix(left, ",") {
			return step, left, nil
		}
		text = left[1:]
	}
}

// readKey reads a key and the equals sign after it.
func readKey(text string) (key, rest string, err error) {
	if strings.HasPrefix(text, `"`) {
		if key, rest, err = quotedName(text); err == nil && strings.HasPrefix(rest, "=") {
			return key, rest[1:], nil
		}
	} else if key, rest, found := strings.Cut(text, "="); found && isPlainKey(key) {
		return key, rest, nil
	}
	return "", "", errors.New("an item is named by its keys, as in [name=\"web\"]")
}

// readValue reads a JSON value, or a bare word, which is a string.
func readValue(text string) (v any, rest string, err error) {
	switch {
	case strings.HasPrefix(text, `"`):
		return quotedValue(text)
	case strings.HasPrefix(text, "{"), strings.HasPrefix(text, "["):
		return readJSON(text)
	}
	end := strings.IndexAny(text, ",]")
	if end <= 0 {
		return nil, "", errors.New("a value must follow the equals sign, and a closing bracket the value")
	}
	word, rest := text[:end], text[end:]
	if v, left, err := readJSON(word); err == nil && left == "" {
		return v, rest, nil
	}
	return word, rest, nil
}

// readJSON reads the JSON value that a text begins with.
func readJSON(text string) (v any, rest string, err error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&v); err != nil {
		return nil, "", fmt.Errorf("the value is no JSON: %w", err)
	}
	return plainNumbers(v), text[decoder.InputOffset():], nil
}

// plainNumbers gives numbers the types that they have in objects, int64 and
// float64, unless the float64 would be printed as another number.
func plainNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, child := range v {
			v[name] = plainNumbers(child)
		}
	case []any:
		for i, child := range v {
			v[i] = plainNumbers(child)
		}
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i
		}
		if f, err := v.Float64(); err == nil {
			if text, err := json.Marshal(f); err == nil && (Strict.Equal(f, v) || Strict.Equal(json.Number(text), v)) {
				return f
			}
		}
	}
	return v
}

// quotedName reads a name in the quotes of strconv.Quote.
func quotedName(text string) (name, rest string, err error) {
	quoted, rest, closed := cutQuoted(text)
	if !closed {
		return "", "", errors.New("the quote is not closed")
	}
	name, err = strconv.Unquote(quoted)
	return name, rest, err
}

// quotedValue reads a string in the quotes of JSON or of strconv.Quote.
func quotedValue(text string) (v any, rest string, err error) {
	quoted, rest, closed := cutQuoted(text)
	if !closed {
		return nil, "", errors.New("the quote is not closed")
	}
	var s string
	if json.Unmarshal([]byte(quoted), &s) == nil {
		return s, rest, nil
	}
	s, err = strconv.Unquote(quoted)
	return s, rest, err
}

// cutQuoted splits a text that begins with a quoted string after the closing quote.
func cutQuoted(text string) (quoted, rest string, closed bool) {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return text[:i+1], text[i+1:], true
		}
	}
	return "", "", false
}
