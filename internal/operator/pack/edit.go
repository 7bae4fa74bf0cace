package pack

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Edit adds a part to a package.
type Edit struct {
	// File is OperatorFileName or ParamsFileName.
	File string
	// Field is the field of the file with the list that gets Value as its last item. If Key is
	// set, the field is an object that gets Value under the key.
	Field, Key string
	// Name is the name of the part. It must be new.
	Name  string
	Value any
	// Templates are templates that the part uses. Those that are missing are created.
	Templates []string
}

// EditFolder makes an edit in the folder of a package. It keeps comments. It writes nothing if
// the package would have failures that it does not have now.
func EditFolder(location string, edit Edit) error {
	before, err := LoadFiles(location)
	if err != nil {
		return err
	}
	p, err := before.Parse()
	if err != nil {
		return err
	}
	after := maps.Clone(before)
	changed := map[string]bool{edit.File: true}
	if after[edit.File], err = edit.apply(before[edit.File]); err != nil {
		return fmt.Errorf("%s: %w", edit.File, err)
	}
	for _, template := range edit.Templates {
		name := path.Join(templatesFolder, template)
		if _, found := after[name]; !found && isPackageFile(name) {
			after[name], changed[name] = fmt.Appendf(nil, "# Objects of %s.\n", edit.Name), true
		}
	}
	edited, err := after.Parse()
	if err != nil {
		return err
	}
	if err := newFailures(p.Verify(), edited.Verify()); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(changed)) {
		file := filepath.Join(location, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, after[name], 0o644); err != nil {
			return err
		}
	}
	return nil
}

// newFailures returns the failures that are in after and not in before.
func newFailures(before, after Findings) error {
	var all []error
	for _, finding := range after {
		if finding.Severity == Failure && !slices.Contains(before, finding) {
			all = append(all, errors.New(finding.String()))
		}
	}
	return errors.Join(all...)
}

// apply returns the text of a file with the edit.
func (e Edit) apply(text []byte) ([]byte, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	if document.Kind == 0 {
		document = yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{{Kind: yaml.MappingNode}}}
	}
	value, err := nodeOf(e.Value)
	if err != nil {
		return nil, err
	}
	list := entry(document.Content[0], e.Field)
	if list.Kind == 0 || list.Tag == "!!null" {
		*list = yaml.Node{Kind: yaml.SequenceNode}
		if e.Key != "" {
			list.Kind = yaml.MappingNode
		}
	}
	list.Style = 0 // a list in brackets would become one long line
	if e.Key != "" {
		if found := entry(list, e.Key); found.Kind != 0 {
			return nil, fmt.Errorf("%s.%s exists", e.Field, e.Key)
		}
		*entry(list, e.Key) = *value
	} else {
		list.Content = append(list.Content, value)
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	if err := encoder.Encode(&document); err != nil {
		return nil, err
	}
	return out.Bytes(), encoder.Close()
}

// entry returns the value of a key in an object. It adds an empty value if the key is missing.
func entry(object *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(object.Content); i += 2 {
		if object.Content[i].Value == key {
			return object.Content[i+1]
		}
	}
	value := &yaml.Node{}
	object.Content = append(object.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, value)
	return value
}

// nodeOf returns a value as YAML, with the names and the order of its JSON fields.
func nodeOf(value any) (*yaml.Node, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	node := document.Content[0]
	plainStyle(node)
	return node, nil
}

// plainStyle removes the style of JSON: braces, and quotes where YAML needs none.
func plainStyle(node *yaml.Node) {
	node.Style = 0
	for _, each := range node.Content {
		plainStyle(each)
	}
}
