package references

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"holdfast.dev/holdfast/value"
)

// Kind is a kind of object that others refer to, or several of them.
type Kind uint8

// The kinds. Either has both: a string with this kind may be the name of a ConfigMap, and that of a Secret.
const (
	ConfigMap Kind = 1 << iota
	Secret
	Either = ConfigMap | Secret
)

// String implements fmt.Stringer.
func (k Kind) String() string {
	switch k {
	case ConfigMap:
		return "ConfigMap"
	case Secret:
		return "Secret"
	}
	return "ConfigMap or Secret"
}

// Annotation is the annotation in which a CustomResourceDefinition declares its rules.
const Annotation = "holdfast.dev/references"

// maxRules is how many rules a definition may declare. The server looks for each of them in each object that changes.
const maxRules = 256

// maxPlace is how long the place of a reference may be. It bounds the error messages, too.
const maxPlace = 1024

// form is what the value at the end of a rule is.
type form uint8

const (
	// name is a name, or an object with a name.
	name form = iota
	// podSpec is the spec of a pod.
	podSpec
	// texts is a value in which every string may be a name: each key of a map, and each string in it, at any depth.
	texts
	// qualified is a namespace, a slash and a name, or a name.
	qualified
)

// Rules find the references in the objects of one kind. The zero value finds none.
type Rules struct {
	root node
	// strings says that every string of the object may be a name.
	strings bool
}

// node is a place in an object. Rules with the same beginning share nodes, so that each value is visited once.
type node struct {
	fields []field
	// items and values are the items of a list and the values of a map, nil if no rule has them.
	items, values *node
	ends          []end
}

// field is a field of an object, or a key of a map.
type field struct {
	name string
	node *node
	ends []namedEnd
}

// end is the end of a rule: the value at the node is a reference.
type end struct {
	kind Kind
	form form
}

// namedEnd is the end of a rule with a place of its own for the namespace: a field of the same object.
type namedEnd struct {
	kind      Kind
	namespace string
}

// Everything returns the rules of a kind whose references are not declared: every string of an object may be a name, in metadata too.
func Everything() *Rules { return &Rules{strings: true} }

// IsEverything reports whether the rules are those of Everything.
func (r *Rules) IsEverything() bool { return r.strings }

// Parse reads rules, one in each line. Empty lines, and those that begin with #, are skipped. The error names the line. The line "PodTemplate *" is an
// error: Expand replaces it.
func Parse(text string) (*Rules, error) {
	rules := &Rules{}
	count := 0
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if count++; count > maxRules {
			return nil, fmt.Errorf("line %d: more than %d rules", i+1, maxRules)
		}
		if err := rules.add(line); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	return rules, nil
}

// add adds the rule in a line.
func (r *Rules) add(line string) error {
	words := strings.Fields(line)
	if len(words) < 2 || len(words) > 3 {
		return fmt.Errorf("%q is not a kind and a path, as in \"Secret spec.tls.secretName\"", value.Cut(line, 80))
	}
	if isEveryTemplate(line) {
		return errTemplates
	}
	path, err := parsePlace(words[1])
	if err != nil {
		return err
	}
	var last end
	switch words[0] {
	case "ConfigMap":
		last.kind = ConfigMap
	case "Secret":
		last.kind = Secret
	case "PodTemplate":
		path, last.form = path.Child("spec"), podSpec
	case "PodSpec":
		last.form = podSpec
	case "Strings":
		last = end{kind: Either, form: texts}
	default:
		return fmt.Errorf("%q is not one of ConfigMap, Secret, PodTemplate, PodSpec, Strings", value.Cut(words[0], 80))
	}
	if len(words) == 3 {
		if last.form != name {
			return fmt.Errorf("%s has no namespace", words[0])
		}
		if words[2] != "/" {
			return r.addNamed(path, words[2], last.kind)
		}
		last.form = qualified
	}
	r.root.at(path).addEnd(last)
	return nil
}

// parsePlace reads the place of a reference.
func parsePlace(text string) (*value.Path, error) {
	if len(text) > maxPlace {
		return nil, fmt.Errorf("%s: longer than %d bytes", value.Cut(text, 80), maxPlace)
	}
	path, err := value.ParsePattern(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", value.Cut(text, 80), err)
	}
	for _, step := range path.Steps() {
		if step.Kind != value.Name && step.Kind != value.AnyName && step.Kind != value.AnyItem {
			return nil, fmt.Errorf("%s: the place of an item in a list must be [*]", value.Cut(text, 80))
		}
	}
	return path, nil
}

// addNamed adds a rule with a place for the namespace.
func (r *Rules) addNamed(path *value.Path, text string, kind Kind) error {
	namespace, err := parsePlace(text)
	if err != nil {
		return err
	}
	if path.Last().Kind != value.Name || namespace.Last().Kind != value.Name || !path.Parent().Equal(namespace.Parent()) {
		return errors.New("the name and the namespace must be fields of the same object")
	}
	f := r.root.at(path.Parent()).field(path.Last().Name)
	if e := (namedEnd{kind, namespace.Last().Name}); !slices.Contains(f.ends, e) {
		f.ends = append(f.ends, e)
	}
	return nil
}

// at returns the node at a path below a node.
func (n *node) at(path *value.Path) *node {
	for _, step := range path.Steps() {
		switch step.Kind {
		case value.AnyItem:
			if n.items == nil {
				n.items = &node{}
			}
			n = n.items
		case value.AnyName:
			if n.values == nil {
				n.values = &node{}
			}
			n = n.values
		default:
			f := n.field(step.Name)
			if f.node == nil {
				f.node = &node{}
			}
			n = f.node
		}
	}
	return n
}

// isEmpty reports whether no rule goes through a node.
func (n *node) isEmpty() bool {
	return len(n.fields) == 0 && n.items == nil && n.values == nil && len(n.ends) == 0
}

// field returns the field of a node with a name.
func (n *node) field(name string) *field {
	for i := range n.fields {
		if n.fields[i].name == name {
			return &n.fields[i]
		}
	}
	n.fields = append(n.fields, field{name: name})
	return &n.fields[len(n.fields)-1]
}

// addEnd adds the end of a rule. The rules of a pod begin at the node.
func (n *node) addEnd(e end) {
	if e.form != podSpec {
		if !slices.Contains(n.ends, e) {
			n.ends = append(n.ends, e)
		}
		return
	}
	for _, line := range podRules() {
		kind, place, _ := strings.Cut(line, " ")
		path, err := value.ParsePattern(place)
		if err != nil {
			panic(fmt.Sprintf("references: %s: %v", place, err)) // the lines are constant
		}
		n.at(path).addEnd(end{kind: map[string]Kind{"ConfigMap": ConfigMap, "Secret": Secret}[kind]})
	}
}
