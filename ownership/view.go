package ownership

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Side says which apply a view describes.
type Side int

const (
	// ClientSide is the view of client-side apply of a kind that kubectl knows: lists
	// merge by patchMergeKey, maps by key, all other values are replaced.
	ClientSide Side = iota
	// ServerSide is the view of server-side apply.
	ServerSide
)

// View says how apply divides the objects of a type into fields. It never changes.
type View struct{ root *node }

// shape says how the values of a field are compared and merged.
type shape uint8

const (
	atomic  shape = iota // one value
	record               // an object with named fields
	mapping              // an object with any keys
	keyed                // a list of objects that differ in some keys
	set                  // a list of distinct scalars
)

// node is one field of a type. Nodes are shared and may be recursive.
type node struct {
	shape  shape
	fields map[string]*node // of record
	elem   *node            // of mapping and keyed; in a record, of fields that it does not name
	keys   keys             // of keyed
	// presence means that an empty value in a configuration is stored, so that apply owns
	// that the field is there.
	presence bool
	// texts marks a mapping to plain strings, which the server stores as they are.
	texts bool
	// retains marks a record of which apply clears the fields that a configuration does not
	// have: the patch strategy retainKeys.
	retains bool
	// allocated marks a field for which the server allocates a value. If a client sends the
	// zero value, the server keeps the stored one.
	allocated bool
	// twins are the fields of a record that the server keeps equal to another field of the
	// record, each with the name of that field. A change of both is one finding, of the other
	// field.
	twins map[string]string
}

// Untyped returns the view of a type that is not known: maps merge by key, lists are
// one value. Client-side apply uses it for every custom resource.
func Untyped() *View {
	untyped := newUntyped()
	// The server stores labels and annotations of all objects as maps of strings, which
	// it leaves out if they are empty.
	texts := &node{shape: mapping, elem: &node{}, texts: true}
	metadata := &node{shape: mapping, elem: untyped, fields: map[string]*node{"labels": texts, "annotations": texts}}
	return &View{root: &node{shape: mapping, elem: untyped, fields: map[string]*node{"metadata": metadata}}}
}

func newUntyped() *node {
	n := &node{shape: mapping, presence: true}
	n.elem = n
	return n
}

// Allocate marks a field, by the names on the way to it, for which the server allocates a
// value. A zero value in a configuration then owns nothing. It must be called before the view
// is used.
func (v *View) Allocate(names ...string) {
	n := v.root
	for _, name := range names {
		if n.shape == keyed {
			n = n.elem
		}
		n = n.child(name)
	}
	n.allocated = true
}

// child returns the node of a field or a key.
func (n *node) child(name string) *node {
	if f, ok := n.fields[name]; ok {
		return f
	}
	return n.elem
}

// NewView returns the view of one model of an OpenAPI document. References to other
// models are resolved by their last part.
func NewView(models map[string]*spec.Schema, name string, side Side) (*View, error) {
	return NewViews(models, side).View(name)
}

// Views makes views of the models of one OpenAPI document. The views share the nodes
// of common models. Views is not safe for concurrent use; the views are.
type Views struct {
	models  map[string]*spec.Schema
	side    Side
	done    map[string]*node
	untyped *node
	// twins are those of the nodes of models.
	twins map[string]map[string]string
}

// NewViews returns a Views of the models of a document.
func NewViews(models map[string]*spec.Schema, side Side) *Views {
	return &Views{models: models, side: side, done: map[string]*node{}, untyped: newUntyped(), twins: map[string]map[string]string{}}
}

// View returns the view of one model.
func (v *Views) View(name string) (*View, error) {
	root, err := v.model(name)
	if err != nil {
		return nil, fmt.Errorf("view of %s: %w", name, err)
	}
	return &View{root: root}, nil
}

// rawExtension is the model of values of any type, such as the data of a ControllerRevision.
// Server-side apply takes such a value as one field, although its schema is that of a map.
const rawExtension = "io.k8s.apimachinery.pkg.runtime.RawExtension"

var errNoModel = errors.New("no such model")

func (v *Views) model(name string) (*node, error) {
	if n, ok := v.done[name]; ok {
		return n, nil
	}
	s := v.models[name]
	if s == nil {
		return nil, fmt.Errorf("%w: %s", errNoModel, name)
	}
	// The node is stored before it is filled, because models refer to themselves.
	n := &node{}
	v.done[name] = n
	if v.side == ServerSide && name == rawExtension {
		return n, nil
	}
	err := v.fill(n, s)
	n.twins = v.twins[name]
	return n, err
}

// of returns the node of a schema inside of another.
func (v *Views) of(s *spec.Schema) (*node, error) {
	if v.side == ServerSide && isAtomicMap(s) || v.side == ClientSide && isReplaced(s) {
		return &node{}, nil
	}
	if name := reference(s); name != "" {
		if model := v.models[name]; model != nil && mapType(s) == "granular" {
			// The field overrides the type of its model, as the claimRef of a PersistentVolume does.
			n := &node{}
			return n, v.fillObject(n, model)
		}
		n, err := v.model(name)
		if v.side == ClientSide && isRetaining(s) {
			n = n.retaining()
		}
		return n, err
	}
	n := &node{}
	return n, v.fill(n, s)
}

// retaining returns a copy of a node for a value with the patch strategy retainKeys.
func (n *node) retaining() *node {
	out := *n
	out.retains = n.shape == record
	return &out
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
		*n = *v.untyped
	}
	return nil
}

func (v *Views) fillObject(n *node, s *spec.Schema) (err error) {
	if len(s.Properties) == 0 {
		n.shape, n.elem = mapping, v.untyped
		if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
			n.elem, err = v.of(s.AdditionalProperties.Schema)
			n.texts = isText(s.AdditionalProperties.Schema)
		}
		return err
	}
	n.shape, n.elem, n.presence = record, v.untyped, true
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
	var names []string
	if n.shape, names = v.listShape(s); n.shape != keyed {
		return nil
	}
	if n.elem, n.keys = v.untyped, (keys{names: names}); s.Items == nil || s.Items.Schema == nil {
		return nil
	}
	n.keys = v.keysOf(names, s.Items.Schema)
	if n.elem, err = v.of(s.Items.Schema); err == nil && v.side == ClientSide && isRetaining(s) {
		n.elem = n.elem.retaining()
	}
	return err
}

func (v *Views) listShape(s *spec.Schema) (shape, []string) {
	if v.side == ClientSide {
		strategy, _ := s.Extensions.GetString("x-kubernetes-patch-strategy")
		if !slices.Contains(strings.Split(strategy, ","), "merge") {
			return atomic, nil
		}
		if key, ok := s.Extensions.GetString("x-kubernetes-patch-merge-key"); ok && key != "" {
			return keyed, []string{key}
		}
		return set, nil
	}
	switch kind, _ := s.Extensions.GetString("x-kubernetes-list-type"); kind {
	case "map":
		if keys := listMapKeys(s); len(keys) > 0 {
			return keyed, keys
		}
	case "set":
		return set, nil
	}
	return atomic, nil
}

// listMapKeys returns the keys of a list. The extension holds []any in a schema that was
// decoded from JSON, and []string in the schema of a custom resource, which the server
// builds in memory.
func listMapKeys(s *spec.Schema) []string {
	const extension = "x-kubernetes-list-map-keys"
	if keys, ok := s.Extensions[extension].([]string); ok {
		return keys
	}
	keys, _ := s.Extensions.GetStringSlice(extension)
	return keys
}

func isAtomicMap(s *spec.Schema) bool { return mapType(s) == "atomic" }

func mapType(s *spec.Schema) string {
	kind, _ := s.Extensions.GetString("x-kubernetes-map-type")
	return kind
}

// isReplaced reports whether client-side apply replaces a value as a whole, as it does
// with the selector of a PodDisruptionBudget.
func isReplaced(s *spec.Schema) bool {
	strategy, _ := s.Extensions.GetString("x-kubernetes-patch-strategy")
	return strategy == "replace"
}

// isRetaining reports whether client-side apply clears the fields of a value that the
// configuration does not have, as it does with the volumes of a pod.
func isRetaining(s *spec.Schema) bool {
	strategy, _ := s.Extensions.GetString("x-kubernetes-patch-strategy")
	return slices.Contains(strings.Split(strategy, ","), "retainKeys")
}

// isText reports whether a schema is that of a plain string, without a format of its own.
func isText(s *spec.Schema) bool {
	return s.Type.Contains("string") && s.Format == "" && reference(s) == ""
}

// reference returns the name of the model that a schema refers to, "" for none. In
// OpenAPI v3 the reference may be in allOf, beside a default.
func reference(s *spec.Schema) string {
	ref := s.Ref.String()
	if ref == "" && len(s.AllOf) == 1 {
		ref = s.AllOf[0].Ref.String()
	}
	return ref[strings.LastIndexByte(ref, '/')+1:]
}
