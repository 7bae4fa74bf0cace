package writes

import (
	"strings"

	kjson "sigs.k8s.io/json"
)

const (
	// longestKey is the length of the longest key of a regular text. YAML does not allow keys that are longer than 1,024 bytes.
	longestKey = 1000
	// longestNumber is the length of the longest number of a regular text. Such numbers are exact as a float64.
	longestNumber = 15
)

// Decode decodes a configuration like the YAML decoder of the library, with all numbers as float64. It returns false if the text is not
// regular, which means that YAML may give it another value, or if the value has a duplicate key. A regular text is a JSON object in ASCII, as programs
// write it: without line breaks between its values, with integers only, and with escape sequences that mean the same in YAML.
func Decode(text []byte) (map[string]any, bool) {
	if !isRegular(text) {
		return nil, false
	}
	var configuration map[string]any
	if duplicates, err := kjson.UnmarshalStrict(text, &configuration); err != nil || len(duplicates) > 0 {
		return nil, false
	}
	floatsIn(configuration)
	return configuration, true
}

// isRegular reports whether YAML and JSON give a text the same value, if it is JSON at all.
func isRegular(text []byte) bool {
	if n := len(text); n > 0 && text[n-1] == '\n' {
		text = text[:n-1]
	}
	if len(text) == 0 || text[0] != '{' {
		return false
	}
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '"':
			end, ok := stringEnd(text, i)
			if !ok {
				return false
			}
			if end < len(text) && text[end] == ':' && (end-i > longestKey || string(text[i:end]) == `"<<"`) {
				return false
			}
			// A space between a key and its colon is unusual.
			if end < len(text) && text[end] == ' ' {
				return false
			}
			i = end
		case c == '-' || c >= '0' && c <= '9':
			end := i + 1
			for end < len(text) && text[end] >= '0' && text[end] <= '9' {
				end++
			}
			if end-i > longestNumber || end < len(text) && !strings.ContainsRune(",]}", rune(text[end])) || string(text[i:end]) == "-0" {
				return false
			}
			i = end
		case strings.IndexByte("{}[],: nulltruefalse", c) >= 0:
			i++
		default:
			return false
		}
	}
	return true
}

// stringEnd returns the index behind the string that begins at an index.
func stringEnd(text []byte, from int) (int, bool) {
	for i := from + 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return i + 1, true
		case c < ' ' || c > '~':
			return 0, false
		case c != '\\':
		case i+1 < len(text) && strings.IndexByte(`"\bfnrt`, text[i+1]) >= 0:
			i++
		case i+5 < len(text) && strings.HasPrefix(string(text[i:i+4]), `\u00`) && text[i+4] >= '2' && text[i+4] <= '6':
			// The characters from space to o, which have < > and & among them: some programs do not write these as they are.
			i += 5
		default:
			return 0, false
		}
	}
	return 0, false
}

// floatsIn replaces the integers in a value by the numbers of YAML, in place.
func floatsIn(v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, item := range v {
			if n, ok := item.(int64); ok {
				v[key] = float64(n)
				continue
			}
			floatsIn(item)
		}
	case []any:
		for i, item := range v {
			if n, ok := item.(int64); ok {
				v[i] = float64(n)
				continue
			}
			floatsIn(item)
		}
	}
}
