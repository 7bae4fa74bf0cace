package conformance

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
)

// Results has the results of all tests by the names of the test and of the side.
type Results map[string]map[string]Result

// ReadResults reads the results of earlier runs. Without a file there are none.
func ReadResults(file string) (Results, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return Results{}, nil
	}
	if err != nil {
		return nil, err
	}
	results := Results{}
	return results, json.Unmarshal(text, &results)
}

// Set sets the result of a test on a side.
func (r Results) Set(name, sideName string, result Result) {
	if r[name] == nil {
		r[name] = map[string]Result{}
	}
	r[name][sideName] = result
}

// Write writes the results to a file.
func (r Results) Write(file string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o600)
}
