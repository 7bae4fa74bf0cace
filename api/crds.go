package api

import (
	"embed"
	"fmt"
)

// BuiltInHook is the name of the post-start hook with which our server installs the
// definitions. Such a server also has the admission of the three kinds and their
// controller built in. A client recognizes such a server by its readiness check
// /readyz/poststarthook/operator-kinds.
const BuiltInHook = "operator-kinds"

//go:embed crds/*.yaml
var files embed.FS

// CustomResourceDefinitions returns the definitions of the three kinds, each as YAML,
// in the order in which they are to be created.
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
