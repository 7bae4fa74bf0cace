package generate

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-tools/pkg/crd"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/definition/source"
	"holdfast.dev/holdfast/internal/manifest"
	"holdfast.dev/holdfast/schema"
)

// annotator adds the keywords of Holdfast to one definition.
type annotator struct {
	resolver    *resolver
	group, kind string
	// places has the mark for the path of each keyword that was added.
	places   map[string]mark
	warnings Problems
}

// mark is a keyword on a node, with its origin.
type mark struct {
	place place
	// text is the marker as the user wrote it. field is the field of objects.
	text, field string
	// forbids is what the keyword forbids, Free for a keyword that is not about updates.
	forbids immutability.Marker
}

// position is a position in a schema.
type position struct {
	path *field.Path
	// field is the field of objects, such as spec.ports[*].name.
	field string
	// required is true if every value around the node has the node.
	required bool
}

// annotate adds the keywords, and reports those that the server would refuse.
func (a *annotator) annotate(object map[string]any) error {
	delete(object, "status")
	spec, _ := object["spec"].(map[string]any)
	versions, _ := spec["versions"].([]any)
	for i, v := range versions {
		version, _ := v.(map[string]any)
		validation, _ := version["schema"].(map[string]any)
		root, ok := validation["openAPIV3Schema"].(map[string]any)
		typ, known := a.typeOf(version["name"])
		if ok && known {
			path := field.NewPath("spec", "versions").Index(i).Child("schema", "openAPIV3Schema")
			a.node(root, a.resolver.root(typ), position{path: path})
		}
	}
	return a.validate(object)
}

// typeOf returns the Go type of a version.
func (a *annotator) typeOf(version any) (crd.TypeIdent, bool) {
	for pkg, gv := range a.resolver.parser.GroupVersions {
		typ := crd.TypeIdent{Package: pkg, Name: a.kind}
		if gv.Group == a.group && gv.Version == version && a.resolver.parser.Types[typ] != nil {
			return typ, true
		}
	}
	return crd.TypeIdent{}, false
}

// node adds the keywords of a node and of the nodes below it.
func (a *annotator) node(s map[string]any, n node, at position) {
	a.mark(s, n, at)
	properties, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if child, ok := properties[name].(map[string]any); ok {
			a.node(child, a.resolver.property(n, name), position{
				path: at.path.Child("properties").Key(name), required: slices.Contains(required, any(name)),
				field: strings.TrimPrefix(at.field+"."+name, "."),
			})
		}
	}
	if child, ok := s["items"].(map[string]any); ok {
		a.node(child, a.resolver.items(n), position{at.path.Child("items"), at.field + "[*]", true})
		a.markKeys(s, child, at)
	}
	if child, ok := s["additionalProperties"].(map[string]any); ok {
		a.node(child, a.resolver.values(n), position{at.path.Child("additionalProperties"), at.field + ".*", true})
	}
}

// embeddedType is the reason to refuse a marker on a type that a struct embeds.
const embeddedType = "the type is embedded in another, so it has no node of its own: mark its fields"

// mark adds the keywords of one node. The markers of Holdfast come first: those of Kubernetes may
// say less, and are then covered.
func (a *annotator) mark(s map[string]any, n node, at position) {
	for _, p := range n.places {
		for _, u := range usesOf(p.markers) {
			if p.embedded {
				p.refuse(string(u), embeddedType)
				continue
			}
			a.set(s, vocabulary[string(u)], mark{place: p, text: "+" + string(u), field: at.field}, at)
		}
	}
	for _, p := range n.places {
		m, text := translate(p.markers)
		switch {
		case m == immutability.Free:
			continue
		case p.embedded:
			p.refuse(text[1:], embeddedType)
			continue
		}
		if other, ok := a.protected(s, at); !ok || !other.forbids.Covers(m) {
			a.set(s, forbidding(m), mark{place: p, text: text, field: at.field}, at)
		}
		if !at.required && allowsSetting(p.markers) {
			a.warnings = append(a.warnings, p.problem(text, "the field is optional, and cannot be set later; "+
				"the CEL rules of controller-gen allow to set it once: write +setOnce for that"))
		}
	}
}

// set adds a keyword. A node has at most one keyword about updates.
func (a *annotator) set(s map[string]any, word keyword, m mark, at position) {
	m.forbids = word.marker
	if other, ok := a.protected(s, at); ok && word.marker != immutability.Free {
		if other.forbids != word.marker {
			m.place.refuse(m.text[1:], fmt.Sprintf("excludes %s on %s (%s)", other.text, other.place.name, other.place.location()))
		}
		return
	}
	if _, ok := s[word.name]; ok {
		return
	}
	s[word.name] = word.value
	a.places[at.path.Child(word.name).String()] = m
}

// protected returns the keyword about updates that a node has already.
func (a *annotator) protected(s map[string]any, at position) (mark, bool) {
	for _, name := range protecting {
		if _, ok := s[name]; ok {
			return a.places[at.path.Child(name).String()], true
		}
	}
	return mark{}, false
}

// markKeys marks the keys of a list of type map with a marker about its keys. The server
// requires that; the keys identify the items, so they cannot change anyway.
func (a *annotator) markKeys(s, items map[string]any, at position) {
	if s[schema.ListTypeKeyword] != "map" || items[schema.ImmutableKeyword] != nil {
		return
	}
	origin, _ := a.protected(s, at)
	if origin.forbids == immutability.Immutable || origin.forbids&immutability.ImmutableKeys == 0 {
		return
	}
	properties, _ := items["properties"].(map[string]any)
	keys, _ := s[schema.ListMapKeysKeyword].([]any)
	for _, key := range keys {
		name, _ := key.(string)
		if child, ok := properties[name].(map[string]any); ok {
			below := position{path: at.path.Child("items", "properties").Key(name)}
			a.set(child, forbidding(immutability.Immutable), origin, below)
		}
	}
}

// validate asks the rules of the server. Errors about keywords of Holdfast are errors at the
// markers in the source, others are warnings.
func (a *annotator) validate(object map[string]any) error {
	data, err := json.Marshal(object)
	if err != nil {
		return err
	}
	def, err := source.Decode(manifest.Object{APIVersion: definition.GroupName + "/" + definition.V1, Kind: definition.Kind.Kind, JSON: data})
	if err != nil {
		return err
	}
	for _, err := range def.Write.Validate(context.Background(), def.CustomResourceDefinition) {
		message := strings.TrimPrefix(err.ErrorBody(), "Forbidden: ")
		if m, ok := a.places[err.Field]; ok {
			where := def.Name
			if m.field != "" {
				where = m.field + " of " + where
			}
			m.place.pkg.AddError(m.place.positioned(fmt.Errorf("%s on %s: %s (%s)", m.text, m.place.name, message, where)))
			continue
		}
		a.warnings = append(a.warnings, Problem{Message: fmt.Sprintf("the server would refuse %s: %s: %s", def.Name, err.Field, message)})
	}
	return nil
}
