package ownership

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Side says whose rules a view of a type follows.
type Side int

const (
	// ClientSide is the view of kubectl's client-side apply of a type that
	// kubectl knows: lists merge by patchMergeKey, maps by key, all else is
	// replaced.
	ClientSide Side = iota
	// ServerSide is the view of server-side apply.
	ServerSide
)

// View is how an owner's apply divides the objects of a type into fields. It never
// changes.
type View struct{ root *node }

// shape is how values at a place are compared and merged.
type shape uint8

const (
	whole   shape = iota // one value
	record               // named fields
	mapping              // any keys
	keyed                // a list whose items are told apart by keys
	members              // a list of distinct scalars
)

// node is the shape at one place of a type. Nodes are shared and may be
// recursive.
type node struct {
	shape  shape
	fields map[string]*node // of record
	elem   *node            // of mapping and keyed, and of what a record does not name
	keys   []string         // of keyed
}

// Loose is the view of a type about which nothing is known: maps merge by key,
// lists are one value. Client-side apply treats every custom resource so.
func Loose() *View { return &View{root: newLoose()} }

func newLoose() *node {
	n := &node{shape: mapping}
	n.elem = n
	return n
}

// child is the node of a field or a key.
func (n *node) child(name string) *node {
	if f, ok := n.fields[name]; ok {
		return f
	}
	return n.elem
}

// NewView compiles the view of one model of an OpenAPI document; models are
// found by the last part of their reference.
func NewView(models map[string]*spec.Schema, name string, side Side) (*View, error) {
	return NewViews(models, side).View(name)
}

// Views compiles models of one OpenAPI document that share what they refer to.
// It is not safe for concurrent use; the views are.
type Views struct {
	models map[string]*spec.Schema
	side   Side
	done   map[string]*node
	loose  *node
}

// NewViews prepares the compilation of views.
func NewViews(models map[string]*spec.Schema, side Side) *Views {
	return &Views{models: models, side: side, done: map[string]*node{}, loose: newLoose()}
}

// View compiles one model.
func (v *Views) View(name string) (*View, error) {
	root, err := v.model(name)
	if err != nil {
		return nil, fmt.Errorf("view of %s: %w", name, err)
	}
	return &View{root: root}, nil
}

var errNoModel = errors.New("no such model")

func (v *Views) model(name string) (*node, error) {
	if n, ok := v.done[name]; ok {
		return n, nil
	}
	s := v.models[name]
	if s == nil {
		return nil, fmt.Errorf("%w: %s", errNoModel, name)
	}
	// The place is taken first: models refer to themselves.
	n := &node{}
	v.done[name] = n
	return n, v.fill(n, s)
}

// of is the node of a schema that stands inside of another.
func (v *Views) of(s *spec.Schema) (*node, error) {
	if v.side == ServerSide && isAtomicMap(s) {
		return &node{}, nil
	}
	if name := reference(s); name != "" {
		return v.model(name)
	}
	n := &node{}
	return n, v.fill(n, s)
}

func (v *Views) fill(n *node, s *spec.Schema) error {
	switch {
	case v.side == ServerSide && isAtomicMap(s):
		return nil
	case s.Type.Contains("array"):
		return v.fillList(n, s)
	case s.Type.Contains("object"), len(s.Type) == 0 && len(s.Properties) > 0:
		return v.fillObject(n, s)
	case len(s.Type) == 0 && len(s.OneOf) == 0 && len(s.AnyOf) == 0:
		*n = *v.loose
	}
	return nil
}

func (v *Views) fillObject(n *node, s *spec.Schema) (err error) {
	if len(s.Properties) == 0 {
		n.shape, n.elem = mapping, v.loose
		if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
			n.elem, err = v.of(s.AdditionalProperties.Schema)
		}
		return err
	}
	n.shape, n.elem = record, v.loose
	n.fields = make(map[string]*node, len(s.Properties))
	for name := range s.Properties {
		property := s.Properties[name]
		if n.fields[name], err = v.of(&property); err != nil {
			return err
		}
	}
	return nil
}

func (v *Views) fillList(n *node, s *spec.Schema) (err error) {
	n.shape, n.keys = v.listShape(s)
	if n.shape != keyed {
		return nil
	}
	if n.elem = v.loose; s.Items == nil || s.Items.Schema == nil {
		return nil
	}
	n.elem, err = v.of(s.Items.Schema)
	return err
}

func (v *Views) listShape(s *spec.Schema) (shape, []string) {
	if v.side == ClientSide {
		strategy, _ := s.Extensions.GetString("x-kubernetes-patch-strategy")
		if !slices.Contains(strings.Split(strategy, ","), "merge") {
			return whole, nil
		}
		if key, ok := s.Extensions.GetString("x-kubernetes-patch-merge-key"); ok && key != "" {
			return keyed, []string{key}
		}
		return members, nil
	}
	switch kind, _ := s.Extensions.GetString("x-kubernetes-list-type"); kind {
	case "map":
		if keys := listMapKeys(s); len(keys) > 0 {
			return keyed, keys
		}
	case "set":
		return members, nil
	}
	return whole, nil
}

// listMapKeys are the keys of a list, as JSON has them or as the schema of a custom
// resource does, which never was JSON.
func listMapKeys(s *spec.Schema) []string {
	const extension = "x-kubernetes-list-map-keys"
	if keys, ok := s.Extensions[extension].([]string); ok {
		return keys
	}
	keys, _ := s.Extensions.GetStringSlice(extension)
	return keys
}

func isAtomicMap(s *spec.Schema) bool {
	kind, _ := s.Extensions.GetString("x-kubernetes-map-type")
	return kind == "atomic"
}

// reference is the name of the model that a schema stands for; documents of
// version 3 wrap it in allOf beside a default.
func reference(s *spec.Schema) string {
	ref := s.Ref.String()
	if ref == "" && len(s.AllOf) == 1 {
		ref = s.AllOf[0].Ref.String()
	}
	return ref[strings.LastIndexByte(ref, '/')+1:]
}
