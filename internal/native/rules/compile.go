package rules

import (
	"cmp"
	"reflect"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// node holds the checks of one Go type and of everything below it. All places where the type appears share one node.
type node struct {
	kind    reflect.Kind // Struct, Slice or Map
	as      reflect.Type // of a struct: the type to which it is converted first; nil if the checks take its own type
	first   []check      // of a struct, before those of its fields
	fields  []fieldNode  // of a struct
	checks  []check      // of a struct as a whole
	elem    *node        // of a slice or map
	leftOut bool         // paths do not name the index of a slice
}

// fieldNode holds the checks of one field of a struct.
type fieldNode struct {
	segment    any // the name of the field in paths; nil if it is inlined
	index      int
	condition  precondition // nil if the checks always run
	pointer    bool
	required   *string // the detail of the error message; nil if the field is optional
	enum       []string
	allowEmpty bool // the enum accepts the empty string: it is one of its values, or means that the field is not set
	checks     []check
	child      *node // the checks below the field
}

// compiler compiles Go types into nodes, each type once.
type compiler struct {
	schemas  schemas
	table    *table
	isWalked func(field string) bool // reports whether a top-level field of an object is validated

	roots sync.Map // reflect.Type to *node
	mu    sync.Mutex
	nodes map[reflect.Type]*node
}

// writeRules compiles the checks for creates and updates. They do not include the status.
var writeRules = sync.OnceValue(func() *compiler {
	return &compiler{
		schemas:  publishedSchemas(),
		table:    newTable(kindRules()...),
		isWalked: func(field string) bool { return field != "status" },
		nodes:    map[reflect.Type]*node{},
	}
})

// statusWriteRules compiles the checks for updates of the status: the table of statusRules, without the schema.
var statusWriteRules = sync.OnceValue(func() *compiler {
	return &compiler{
		table:    newTable(statusRules()),
		isWalked: func(field string) bool { return field == "status" },
		nodes:    map[reflect.Type]*node{},
	}
})

// rootNode returns the node of a kind, or nil if it has no checks.
func (c *compiler) rootNode(t reflect.Type) *node {
	if n, ok := c.roots.Load(t); ok {
		return n.(*node)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n := nilIfEmpty(c.structNode(t, c.isWalked))
	c.roots.Store(t, n)
	return n
}

// lockedNode returns the node of a type below a kind.
func (c *compiler) lockedNode(t reflect.Type) *node {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.node(t)
}

// node returns the node of a type below a kind, or nil if it has no checks. The caller holds the lock.
func (c *compiler) node(t reflect.Type) *node {
	switch t.Kind() {
	case reflect.Pointer:
		return c.node(t.Elem())
	case reflect.Slice, reflect.Map:
		elem := c.node(t.Elem())
		if elem == nil || t.Elem().Kind() == reflect.Pointer {
			return nil // API types have no lists or maps of pointers
		}
		return &node{kind: t.Kind(), elem: elem}
	case reflect.Struct:
	default:
		return nil
	}
	if t == reflect.TypeFor[metav1.ObjectMeta]() {
		return nil
	}
	if same := c.table.same[t]; same != nil {
		n := *c.node(same)
		n.as = same
		return &n
	}
	n, ok := c.nodes[t]
	if !ok {
		c.nodes[t] = nil // ends the recursion if a type contains itself; API types do not
		n = nilIfEmpty(c.structNode(t, func(string) bool { return true }))
		c.nodes[t] = n
	}
	return n
}

// nilIfEmpty returns nil for a node without checks.
func nilIfEmpty(n *node) *node {
	if len(n.fields) == 0 && len(n.checks) == 0 && len(n.first) == 0 {
		return nil
	}
	return n
}

// structNode compiles a struct type. Only the fields for which walked returns true are included.
func (c *compiler) structNode(t reflect.Type, walked func(field string) bool) *node {
	n := &node{kind: reflect.Struct, first: c.table.first[t], checks: c.table.structs[t]}
	published := c.schemas.fieldsOf(t)
	for i := range t.NumField() {
		f := t.Field(i)
		name := jsonName(f)
		if name == "" && !(f.Anonymous && f.Type.Kind() == reflect.Struct) || name != "" && !walked(name) {
			continue
		}
		m := c.fieldNode(f, published[name], c.table.field(t, name))
		m.index = i
		if m.required != nil || m.enum != nil || m.checks != nil || m.child != nil {
			n.fields = append(n.fields, m)
		}
	}
	return n
}

// fieldNode combines the schema of a field with its rules of the table.
func (c *compiler) fieldNode(f reflect.StructField, published property, own fieldRules) fieldNode {
	m := fieldNode{pointer: f.Type.Kind() == reflect.Pointer, condition: own.condition, checks: own.checks}
	if name := cmp.Or(own.segment, jsonName(f)); name != "" && !own.leftOut {
		m.segment = name
	}
	if own.skip {
		return m
	}
	if canBeMissing(f.Type) && !own.notRequired {
		m.required = own.required
		if published.required && m.required == nil {
			m.required = new(string)
		}
	}
	m.enum, m.allowEmpty = published.enum, published.allowEmpty || !m.pointer
	if own.replaceEnum {
		m.enum, m.allowEmpty = slices.Sorted(slices.Values(own.values)), m.allowEmpty && !own.noEmpty
	}
	m.child = c.node(f.Type)
	if own.leftOut {
		m.child = &node{kind: reflect.Slice, elem: m.child.elem, leftOut: true}
	}
	return m
}

// canBeMissing reports whether a required field of this type can be missing. The zero value of a number or bool does not
// count as missing.
func canBeMissing(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		return true
	default:
		return false
	}
}
