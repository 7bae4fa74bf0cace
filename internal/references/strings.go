package references

import "encoding/json"

// maxName is how long the name of an object is at most.
const maxName = 253

// MayBeName reports whether a text may be the name of a ConfigMap or a Secret: it has only lower-case letters, digits, dots and hyphens.
func MayBeName(text string) bool { return mayBeName(text) }

func mayBeName[text string | []byte](t text) bool {
	if len(t) == 0 || len(t) > maxName {
		return false
	}
	for i := range len(t) {
		if c := t[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '.' {
			return false
		}
	}
	return true
}

// visitStrings calls a function for every string in a valid JSON text that may be a name.
func visitStrings(text []byte, visit Visit) {
	for i := 0; i < len(text); i++ {
		if text[i] != '"' {
			continue
		}
		start, escaped := i+1, false
		for i++; i < len(text) && text[i] != '"'; i++ {
			if text[i] == '\\' {
				escaped = true
				i++
			}
		}
		if i >= len(text) {
			return
		}
		if escaped {
			var decoded string
			if json.Unmarshal(text[start-1:i+1], &decoded) == nil && mayBeName(decoded) {
				visit(Either, "", decoded)
			}
			continue
		}
		if found := text[start:i]; mayBeName(found) {
			visit(Either, "", string(found))
		}
	}
}
