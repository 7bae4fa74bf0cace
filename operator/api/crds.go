package api

import (
	"embed"
	"fmt"
)

// BuiltInHook is the hook that brings the definitions to a server which has the
// kinds, their admission and their controller built in. Clients know such a server
// by the check of that name among those of its readiness, /readyz/poststarthook/NAME.
const BuiltInHook = "operator-kinds"

//go:embed crds/*.yaml
var files embed.FS

// CustomResourceDefinitions are the definitions of the three kinds, each as
// YAML, in the order in which they are created.
func CustomResourceDefinitions() ([][]byte, error) {
	var all [][]byte
	for _, resource := range []string{"operators", "operatorversions", "instances"} {
		text, err := files.ReadFile("crds/" + resource + ".yaml")
		if err != nil {
			return nil, fmt.Errorf("definition of %s: %w", resource, err)
		}
		all = append(all, text)
	}
	return all, nil
}
