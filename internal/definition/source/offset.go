package source

import (
	"bytes"
	"encoding/json"

	"holdfast.dev/holdfast/value"
)

// pathAt returns the path of the value that ends at or after an offset of a JSON text. The
// JSON decoder reports an offset, and a path without the indexes of lists.
func pathAt(data []byte, offset int64) string {
	decoder := json.NewDecoder(bytes.NewReader(data))
	var path []value.Step
	// open has the delimiters around the current value.
	var open []json.Delim
	isName := false
	for {
		token, err := decoder.Token()
		if err != nil {
			return ""
		}
		delimiter, isDelimiter := token.(json.Delim)
		closes := isDelimiter && (delimiter == '}' || delimiter == ']')
		if closes {
			open, path = open[:len(open)-1], path[:len(path)-1]
		}
		if isName && !closes {
			name, _ := token.(string)
			path[len(path)-1].Name = name
			isName = false
			continue
		}
		if !closes && len(open) > 0 && open[len(open)-1] == '[' {
			path[len(path)-1].Index++
		}
		if decoder.InputOffset() >= offset {
			return value.Notation{Kubernetes: true}.Steps(path)
		}
		if isDelimiter && !closes {
			open = append(open, delimiter)
			step := value.Step{Kind: value.Name}
			if delimiter == '[' {
				step = value.Step{Kind: value.Index, Index: -1}
			}
			path = append(path, step)
		}
		isName = len(open) > 0 && open[len(open)-1] == '{'
	}
}
