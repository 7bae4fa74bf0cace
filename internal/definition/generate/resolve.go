package generate

import (
	"go/ast"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"

	"holdfast.dev/holdfast/immutability"
)

// place is a field or a type in Go source.
type place struct {
	pkg *loader.Package
	// node is the field or the type.
	node ast.Node
	// name is its description for messages, such as "field Hull of BoatSpec".
	name    string
	markers markers.MarkerValues
	// embedded is true for a type that a struct embeds. The schema has the fields of the type
	// beside those of the struct, and no node for the type itself.
	embedded bool
}

// part is one of the schemas that controller-tools merges into a node: that of a field, of
// its type, or of an embedded type.
type part struct {
	schema   apiextensionsv1.JSONSchemaProps
	typ      crd.TypeIdent
	embedded bool
}

// node is a node of a schema before it is merged.
type node struct {
	parts  []part
	places []place
}

// resolver finds the places that describe a node. Merging loses them, so the resolver goes
// down the unmerged schemas of types, in parallel with the merged schema.
type resolver struct {
	parser  *crd.Parser
	reached map[crd.TypeIdent]bool
}

func newResolver(parser *crd.Parser) *resolver {
	return &resolver{parser, map[crd.TypeIdent]bool{}}
}

// root returns the node of a kind.
func (r *resolver) root(typ crd.TypeIdent) node {
	return r.merge([]part{{schema: r.parser.Schemata[typ], typ: typ}}, r.typePlaces(typ))
}

// merge returns the node that is made of some parts and of everything they refer to.
func (r *resolver) merge(parts []part, places []place) node {
	n := node{places: places}
	seen := map[crd.TypeIdent]bool{}
	for len(parts) > 0 {
		p := parts[0]
		parts = parts[1:]
		n.parts = append(n.parts, p)
		if typ, ok := target(p); ok && !seen[typ] {
			seen[typ] = true
			for _, found := range r.typePlaces(typ) {
				found.embedded = p.embedded
				n.places = append(n.places, found)
			}
			parts = append(parts, part{r.parser.Schemata[typ], typ, p.embedded})
		}
		for _, s := range p.schema.AllOf {
			parts = append(parts, part{s, p.typ, true})
		}
	}
	return n
}

// target returns the type that a schema refers to.
func target(p part) (crd.TypeIdent, bool) {
	if p.schema.Ref == nil {
		return crd.TypeIdent{}, false
	}
	name, path, err := crd.RefParts(*p.schema.Ref)
	if err != nil {
		return crd.TypeIdent{}, false
	}
	pkg := p.typ.Package
	if path != "" {
		pkg = pkg.Imports()[path]
	}
	return crd.TypeIdent{Package: pkg, Name: name}, pkg != nil
}

// property returns the node of a property.
func (r *resolver) property(n node, name string) node {
	var parts []part
	var places []place
	for _, p := range n.parts {
		if s, ok := p.schema.Properties[name]; ok {
			parts = append(parts, part{schema: s, typ: p.typ})
			places = append(places, r.fieldPlaces(p.typ, name)...)
		}
	}
	return r.merge(parts, places)
}

// items returns the node of the items of a list.
func (r *resolver) items(n node) node {
	var parts []part
	for _, p := range n.parts {
		if p.schema.Items != nil && p.schema.Items.Schema != nil {
			parts = append(parts, part{schema: *p.schema.Items.Schema, typ: p.typ})
		}
	}
	return r.merge(parts, nil)
}

// values returns the node of the values of a map.
func (r *resolver) values(n node) node {
	var parts []part
	for _, p := range n.parts {
		if p.schema.AdditionalProperties != nil && p.schema.AdditionalProperties.Schema != nil {
			parts = append(parts, part{schema: *p.schema.AdditionalProperties.Schema, typ: p.typ})
		}
	}
	return r.merge(parts, nil)
}

// withoutNode is the reason to refuse a marker on a field that JSON leaves out, or on an embedded struct.
const withoutNode = "the field has no node of its own in the schema: mark the fields of its type"

// typePlaces returns the place of a type, nothing if it is not declared in a package that
// was loaded. When it first meets a type, it reports markers on fields without a node.
func (r *resolver) typePlaces(typ crd.TypeIdent) []place {
	info := r.parser.Types[typ]
	if info == nil {
		return nil
	}
	if !r.reached[typ] {
		r.reached[typ] = true
		for i := range info.Fields {
			f := &info.Fields[i]
			if _, ok := jsonName(f); !ok {
				for _, u := range usesOf(f.Markers) {
					fieldPlace(typ, f).refuse(string(u), withoutNode)
				}
				if m, text := translate(f.Markers); m != immutability.Free {
					fieldPlace(typ, f).refuse(text[1:], withoutNode)
				}
			}
		}
	}
	return []place{{pkg: typ.Package, node: info.RawSpec, name: "type " + typ.Name, markers: info.Markers}}
}

// fieldPlaces returns the places of the fields of a struct with a name in JSON.
func (r *resolver) fieldPlaces(typ crd.TypeIdent, name string) []place {
	info := r.parser.Types[typ]
	if info == nil {
		return nil
	}
	var places []place
	for i := range info.Fields {
		if found, ok := jsonName(&info.Fields[i]); ok && found == name {
			places = append(places, fieldPlace(typ, &info.Fields[i]))
		}
	}
	return places
}

func fieldPlace(typ crd.TypeIdent, f *markers.FieldInfo) place {
	name := "embedded field"
	if f.Name != "" {
		name = "field " + f.Name
	}
	return place{pkg: typ.Package, node: f.RawField, name: name + " of " + typ.Name, markers: f.Markers}
}

// jsonName returns the name of a field in JSON. ok is false for a field without a node of its own
// in the schema: one that JSON leaves out, and an embedded struct.
func jsonName(f *markers.FieldInfo) (name string, ok bool) {
	options := strings.Split(f.Tag.Get("json"), ",")
	if len(options) == 1 && options[0] == "-" {
		return "", false
	}
	if slices.Contains(options[1:], "inline") {
		return "", false
	}
	return options[0], options[0] != ""
}

// packages returns the packages of the types that kinds use, sorted by path.
func (r *resolver) packages() []*loader.Package {
	found := map[string]*loader.Package{}
	for typ := range r.reached {
		found[typ.Package.ID] = typ.Package
	}
	var all []*loader.Package
	for _, id := range slices.Sorted(maps.Keys(found)) {
		all = append(all, found[id])
	}
	return all
}
