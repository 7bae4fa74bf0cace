package api

import (
	"embed"
	"fmt"
)

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
