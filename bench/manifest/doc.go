// Package manifest makes the objects that bench sends: nodes, pods and what they need, with the contents that kubelets and controllers
// give them. Two objects of the same name and of different generations differ in what their component changes.
//
//	body := manifest.Encode(manifest.Pod("web-1", 1))
package manifest

import (
	"encoding/json"
	"fmt"
	"time"
)

// Map is a JSON object.
type Map = map[string]any

// List is a JSON array.
type List = []any

// Encode returns the JSON text of an object of this program. It panics if the object has a value that JSON has no form for.
func Encode(obj Map) []byte {
	text, err := json.Marshal(obj)
	if err != nil {
		panic(err) // only maps, lists, strings and numbers
	}
	return text
}

// moment returns a time that differs for each generation.
func moment(generation int) time.Time {
	return time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(generation) * time.Second)
}

// metadata returns the metadata of an object in the namespace default.
func metadata(name string) Map { return Map{"name": name, "namespace": "default"} }

// text returns a number as text.
func text(n int) string { return fmt.Sprint(n) }
