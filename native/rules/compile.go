package rules

import (
	"reflect"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// node is the checks of one Go type and of all below it, shared by every place where the type appears.
type node struct {
	kind    reflect.Kind // Struct, Slice or Map
	members []member     // of a struct
	checks  []check      // of a struct as a whole
	elem    *node        // of a slice or map
}

// member is one field of a struct.
type member struct {
	segment  any // the field's name in a path, nil if it is inlined
	index    int
	pointer  bool
	required *string // the detail of the message
	enum     []string
	empty    bool // the empty string passes the enum: as a value, or as none
	checks   []check
	below    *node
}

// compiler turns types into nodes, each once.
type compiler struct {
	schemas schemas
	table   *table
	root    func(field string) bool // which fields of a root object are walked

	roots sync.Map // reflect.Type to *node
	mu    sync.Mutex
	nodes map[reflect.Type]*node
}

// kinds compiles what creates and updates are checked for.
var kinds = sync.OnceValue(func() *compiler {
	return &compiler{
		schemas: publishedSchemas(),
		table:   newTable(kindRules()...),
		root:    func(field string) bool { return field != "status" },
		nodes:   map[reflect.Type]*node{},
	}
})

// statuses compiles what status writes are checked for: no schema, only the few rules there are.
var statuses = sync.OnceValue(func() *compiler {
	return &compiler{
		table: newTable(statusRules()),
		root:  func(field string) bool { return field == "status" },
		nodes: map[reflect.Type]*node{},
	}
})

// of returns the node of a root object, nil if it has no checks.
func (c *compiler) of(t reflect.Type) *node {
	if n, ok := c.roots.Load(t); ok {
		return n.(*node)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n := prune(c.structure(t, c.root))
	c.roots.Store(t, n)
	return n
}

// node compiles a type below a root; nil if there is nothing to check.
func (c *compiler) node(t reflect.Type) *node {
	switch t.Kind() {
	case reflect.Pointer:
		return c.node(t.Elem())
	case reflect.Slice, reflect.Map:
		elem := c.node(t.Elem())
		if elem == nil || t.Elem().Kind() == reflect.Pointer {
			return nil // no API type has lists or maps of pointers
		}
		return &node{kind: t.Kind(), elem: elem}
	case reflect.Struct:
	default:
		return nil
	}
	if t == reflect.TypeFor[metav1.ObjectMeta]() {
		return nil
	}
	n, ok := c.nodes[t]
	if !ok {
		c.nodes[t] = nil // no API type contains itself
		n = prune(c.structure(t, func(string) bool { return true }))
		c.nodes[t] = n
	}
	return n
}

func prune(n *node) *node {
	if len(n.members) == 0 && len(n.checks) == 0 {
		return nil
	}
	return n
}

func (c *compiler) structure(t reflect.Type, walked func(field string) bool) *node {
	n := &node{kind: reflect.Struct, checks: c.table.structs[t]}
	published := c.schemas.of(t)
	for i := range t.NumField() {
		f := t.Field(i)
		name := jsonName(f)
		if name == "" && !(f.Anonymous && f.Type.Kind() == reflect.Struct) || name != "" && !walked(name) {
			continue
		}
		m := c.member(f, published[name], c.table.field(t, name))
		m.index = i
		if m.required != nil || m.enum != nil || m.checks != nil || m.below != nil {
			n.members = append(n.members, m)
		}
	}
	return n
}

func (c *compiler) member(f reflect.StructField, published property, own fieldRules) member {
	m := member{pointer: f.Type.Kind() == reflect.Pointer, checks: own.checks}
	if name := jsonName(f); name != "" {
		m.segment = name
	}
	if own.skip {
		return m
	}
	if emptiable(f.Type) && !own.optional {
		m.required = own.required
		if published.required && m.required == nil {
			m.required = new(string)
		}
	}
	m.enum, m.empty = published.enum, published.empty || !m.pointer
	if own.ownEnum {
		m.enum = slices.Sorted(slices.Values(own.enum))
	}
	m.below = c.node(f.Type)
	return m
}

// emptiable tells whether a value of the type can be missing: the zero of a number or bool is a value like any other.
func emptiable(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		return true
	default:
		return false
	}
}
