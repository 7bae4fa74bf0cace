package references

import "encoding/json"

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
