package nesting

import (
	"encoding/json"

	"sigs.k8s.io/yaml"
)

// YAML returns an error if YAML text has too many levels. Most clients send JSON, which is
// YAML too. Other text is converted to JSON first: the levels of YAML depend on indentation,
// quotes and aliases, so only a parser can count them.
func YAML(text []byte) error {
	if !json.Valid(text) {
		converted, err := yaml.YAMLToJSON(text)
		if err != nil {
			// The decoder reports the error.
			return nil //nolint:nilerr // see above
		}
		text = converted
	}
	if JSON(text) != nil {
		return Error{What: "the YAML"}
	}
	return nil
}
