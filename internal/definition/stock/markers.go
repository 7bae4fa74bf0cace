package stock

import (
	"fmt"
	"slices"
	"strings"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/schema"
)

// version is a version of the definition.
type version struct {
	*definition.CustomResourceDefinitionVersion
	index int
	root  *node
	// raw is the schema as JSON decoding gives it, in the definition that is compiled.
	raw   map[string]any
	rules []rule
}

// rawSchema returns the schema of a version in a definition, nil if it has none.
func rawSchema(definition map[string]any, index int) map[string]any {
	spec, _ := definition["spec"].(map[string]any)
	versions, _ := spec["versions"].([]any)
	if index >= len(versions) {
		return nil
	}
	version, _ := versions[index].(map[string]any)
	validation, _ := version["schema"].(map[string]any)
	root, _ := validation["openAPIV3Schema"].(map[string]any)
	return root
}

// restore puts the markers of the annotation into the schemas, and removes the rules that an
// earlier run wrote. It keeps the marks that no schema can have.
func (c *compilation) restore() {
	spec, _ := c.raw["spec"].(map[string]any)
	versions, _ := spec["versions"].([]any)
	for i := range versions {
		eachNode(rawSchema(c.raw, i), removeRules)
	}
	for _, m := range c.annotated() {
		if m.IsNoDelete() || m.IsMetadata() {
			c.marks = append(c.marks, m)
			continue
		}
		var apart []string // the versions in which the mark is judged by itself
		moved := false
		for i := range versions {
			one, _ := versions[i].(map[string]any)
			name, _ := one["name"].(string)
			node := m.Node(rawSchema(c.raw, i))
			switch {
			case node == nil || !m.In(name):
			case m.IsConditional() || !isFreeFor(node, m.Marker):
				apart = append(apart, name)
			default:
				node[m.Marker.Keyword()], moved = m.Marker.KeywordValue(), true
			}
		}
		switch {
		case !moved && len(apart) == 0:
			c.refuse(annotationPath, "remove the line", "%s: no version has this field", m)
		case moved && len(apart) > 0:
			m.Versions = apart
			fallthrough
		case len(apart) > 0:
			c.marks = append(c.marks, m)
		}
	}
}

// isFreeFor reports whether a node has no marker, or the same one.
func isFreeFor(node map[string]any, m immutability.Marker) bool {
	keywords := map[string]any{}
	for _, name := range []string{
		schema.ImmutableKeyword, schema.ImmutableKeysKeyword, schema.AdditionOnlyKeyword, schema.DeletionOnlyKeyword, schema.UpdateKeyword,
	} {
		if v, ok := node[name]; ok {
			keywords[name] = v
		}
	}
	s, _, err := schema.Decode(keywords)
	if err != nil {
		return true // the server refuses the definition
	}
	given := immutability.MarkerOf(s)
	return given == immutability.Free || given == m
}

// annotationPath is the path of the annotation in a definition.
const annotationPath = "metadata.annotations[" + immutability.Annotation + "]"

// annotated returns the markers of the annotation.
func (c *compilation) annotated() []immutability.Mark {
	metadata, _ := c.raw["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	text, _ := annotations[immutability.Annotation].(string)
	marks, err := immutability.ParseMarks(text)
	if err != nil {
		c.refuse(annotationPath, "", "%v", err)
	}
	return marks
}

// eachNode calls a function for every node of a schema, and for other objects in it.
func eachNode(node any, visit func(map[string]any)) {
	switch node := node.(type) {
	case map[string]any:
		visit(node)
		for _, child := range node {
			eachNode(child, visit)
		}
	case []any:
		for _, child := range node {
			eachNode(child, visit)
		}
	}
}

// removeRules removes the rules with the signature of this package.
func removeRules(node map[string]any) {
	rules, ok := node[schema.ValidationsKeyword].([]any)
	if !ok {
		return
	}
	kept := slices.DeleteFunc(slices.Clone(rules), func(rule any) bool {
		object, _ := rule.(map[string]any)
		text, _ := object["rule"].(string)
		return strings.HasSuffix(text, signature)
	})
	if len(kept) == 0 && len(rules) > 0 {
		delete(node, schema.ValidationsKeyword)
	} else {
		node[schema.ValidationsKeyword] = kept
	}
}

// versions returns the versions that have a schema. It refuses keywords that a stock cluster does
// not have.
func (c *compilation) versions() []*version {
	var all []*version
	for i := range c.def.Spec.Versions {
		v := &c.def.Spec.Versions[i]
		if !c.def.Spec.Pruned(v.Name) {
			c.refuse(fmt.Sprintf("spec.versions[%d]", i), "remove prune and preserveUnknownFields", "Kubernetes always prunes")
		}
		s, _, err := v.DecodeSchema()
		if err != nil || s == nil {
			continue
		}
		one := &version{CustomResourceDefinitionVersion: v, index: i, root: rootNode(s), raw: rawSchema(c.raw, i)}
		schema.Walk(s, func(at *schema.Visit) bool {
			if at.Schema.NoPrune != nil {
				c.refuse(schemaPath(i, at.Path.Child(schema.NoPruneKeyword)), "use "+schema.PreserveUnknownFieldsKeyword,
					"Kubernetes does not have this keyword")
			}
			if at.Schema.Normalize != nil {
				c.refuse(schemaPath(i, at.Path.Child(schema.NormalizeKeyword)), "remove it",
					"Kubernetes does not have this keyword, so a value and an absent value differ there")
			}
			return true
		})
		all = append(all, one)
	}
	return all
}

// move moves the markers of the schemas to the annotation, and removes everything that is not a
// field for Kubernetes.
func (c *compilation) move(versions []*version) {
	named := make([]immutability.Version, len(versions))
	for i, v := range versions {
		named[i] = immutability.Version{Name: v.Name, Schema: v.root.Schema}
	}
	marks, err := immutability.Marks(named)
	if err != nil {
		c.refuse("spec.versions", "", "%v", err)
	}
	spec, _ := c.raw["spec"].(map[string]any)
	delete(spec, "prune")
	entries, _ := spec["versions"].([]any)
	for _, entry := range entries {
		one, _ := entry.(map[string]any)
		delete(one, "prune")
	}
	for _, v := range versions {
		removeMarkers(v.raw, v.root.Schema)
	}
	c.annotate(append(marks, c.marks...))
}

// removeMarkers removes the markers of a schema. It follows the decoded schema, so that a property
// with the name of a marker stays.
func removeMarkers(raw map[string]any, s *schema.Schema) {
	for name, m := range map[string]*bool{
		schema.ImmutableKeyword: s.Immutable, schema.ImmutableKeysKeyword: s.ImmutableKeys,
		schema.AdditionOnlyKeyword: s.AdditionOnly, schema.DeletionOnlyKeyword: s.DeletionOnly,
	} {
		if m != nil {
			delete(raw, name)
		}
	}
	if s.Update != nil {
		delete(raw, schema.UpdateKeyword)
	}
	properties, _ := raw["properties"].(map[string]any)
	for name, child := range s.Properties {
		if below, ok := properties[name].(map[string]any); ok {
			removeMarkers(below, child)
		}
	}
	if below, ok := raw["additionalProperties"].(map[string]any); ok && s.AdditionalProperties != nil {
		removeMarkers(below, s.AdditionalProperties.Schema)
	}
	if below, ok := raw["items"].(map[string]any); ok && s.Items != nil {
		removeMarkers(below, s.Items)
	}
}

// annotate sets the annotation, or removes it if there are no markers.
func (c *compilation) annotate(marks []immutability.Mark) {
	metadata, _ := c.raw["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	if len(marks) == 0 {
		delete(annotations, immutability.Annotation)
		if annotations != nil && len(annotations) == 0 {
			delete(metadata, "annotations")
		}
		return
	}
	if annotations == nil {
		annotations = map[string]any{}
		metadata["annotations"] = annotations
	}
	annotations[immutability.Annotation] = immutability.FormatMarks(marks)
}
