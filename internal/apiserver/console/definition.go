package console

import (
	"slices"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/definition/escape"
	"holdfast.dev/holdfast/schema"
	"holdfast.dev/holdfast/skeleton"
)

// Version is one version of a CustomResourceDefinition.
type Version struct {
	Name    string `json:"name"`
	Served  bool   `json:"served"`
	Storage bool   `json:"storage"`
	// Pruned means that the server drops the fields that are not in the skeleton.
	Pruned bool `json:"pruned"`
	// Note says why there is no skeleton, empty if there is one.
	Note     string `json:"note,omitempty"`
	Skeleton []Node `json:"skeleton"`
	// Rules are the lines of the annotation that no marker can state, such as those with a condition.
	Rules   []string `json:"rules,omitempty"`
	Escapes []Escape `json:"escapes"`
}

// Node is one node of a skeleton.
type Node struct {
	Field string `json:"field"`
	Depth int    `json:"depth"`
	// Type is empty if the skeleton names none.
	Type string `json:"type,omitempty"`
	// Marker is the keyword of the immutability marker, empty for none. The annotation can have it too.
	Marker string `json:"marker,omitempty"`
	// Traits says what else the skeleton has: nullable, unknown fields are kept.
	Traits []string `json:"traits,omitempty"`
}

// Escape is a way to change a field in two writes although it is marked.
type Escape struct {
	Field   string `json:"field"`
	Problem string `json:"problem"`
	Remedy  string `json:"remedy"`
}

// versionsOf returns the versions of a definition with their skeletons.
func versionsOf(crd *definition.CustomResourceDefinition) []Version {
	versions := []Version{}
	for i := range crd.Spec.Versions {
		spec := &crd.Spec.Versions[i]
		v := Version{
			Name: spec.Name, Served: spec.Served, Storage: spec.Storage, Pruned: crd.Spec.Pruned(spec.Name),
			Skeleton: []Node{}, Escapes: []Escape{},
		}
		s, _, err := spec.DecodeSchema()
		switch {
		case err != nil:
			v.Note = "the schema cannot be read: " + err.Error()
		case s == nil:
			v.Note = "this version has no schema: all fields are kept"
		default:
			marks, _ := crd.Marks()
			marked := immutability.AddMarks(s, spec.Name, marks)
			v.Skeleton, v.Escapes = nodesOf(marked.Schema), escapesOf(marked.Schema)
			for _, m := range marks {
				isLayer := func(layer immutability.Mark) bool { return layer.String() == m.String() }
				if m.In(spec.Name) && (m.IsNoDelete() || slices.ContainsFunc(marked.Layers, isLayer)) {
					v.Rules = append(v.Rules, m.String())
				}
			}
		}
		versions = append(versions, v)
	}
	return versions
}

func escapesOf(s *schema.Schema) []Escape {
	escapes := []Escape{}
	for _, e := range escape.Find(s) {
		escapes = append(escapes, Escape{Field: "." + immutability.Field(e.Field), Problem: e.Problem(), Remedy: e.Remedy()})
	}
	return escapes
}

// nodesOf returns the nodes of the skeleton of a schema, parents first, with the markers of the
// schema.
func nodesOf(s *schema.Schema) []Node {
	markers := map[string]string{}
	schema.Walk(s, func(v *schema.Visit) bool {
		if marker := immutability.MarkerOf(v.Schema); marker != immutability.Free && v.Path != nil && !v.InLogic {
			markers[immutability.Field(v.Path)] = keyword(marker)
		}
		return !v.InLogic
	})
	nodes := []Node{}
	schema.Walk(skeleton.Build(s).Schema(), func(v *schema.Visit) bool {
		if v.Path == nil {
			return true
		}
		field := immutability.Field(v.Path)
		nodes = append(nodes, Node{
			Field: "." + field, Depth: v.Depth - 1, Type: typeOf(v.Schema), Marker: markers[field], Traits: traitsOf(v.Schema),
		})
		return true
	})
	return nodes
}

func typeOf(s *schema.Schema) string {
	if s.IntOrString {
		return "integer or string"
	}
	if s.ListType != "" {
		return s.Type + " of type " + s.ListType
	}
	return s.Type
}

func traitsOf(s *schema.Schema) []string {
	var traits []string
	if s.Nullable {
		traits = append(traits, "nullable")
	}
	if schema.IsTrue(s.PreserveUnknownFields) || schema.IsTrue(s.NoPrune) {
		traits = append(traits, "unknown fields are kept")
	}
	if s.EmbeddedResource {
		traits = append(traits, "embedded resource")
	}
	return traits
}
