package manifest

import yamlv3 "go.yaml.in/yaml/v3"

// Duplicate is a key that an earlier key of the same object equals. kubectl takes the
// last value and ignores the others.
type Duplicate struct {
	Position
	Key string
}

// Duplicates returns the duplicate keys of the document. Call Objects before.
func (d *Document) Duplicates() []Duplicate {
	if !d.duplicated || d.tree() == nil {
		return nil
	}
	var found []Duplicate
	var visit func(n *yamlv3.Node)
	visit = func(n *yamlv3.Node) {
		seen := map[string]bool{}
		for i, child := range n.Content {
			if n.Kind == yamlv3.MappingNode && i%2 == 0 {
				if seen[child.Value] {
					found = append(found, Duplicate{d.position(child), child.Value})
				}
				seen[child.Value] = true
			}
			visit(child)
		}
	}
	visit(d.root)
	return found
}
