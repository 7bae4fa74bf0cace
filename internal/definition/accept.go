package definition

import (
	"sync/atomic"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// acceptor finds out quickly that a value is valid. Upstream's validator creates a
// validator for every value that it meets, which is most of the cost of a create. An
// acceptor compares types, sizes and required fields itself, and has one of upstream's
// validators for each schema with other keywords. An acceptor makes no error messages: a
// value that it does not accept goes to upstream's validator, which decides.
//
// The acceptor of a property is built when the first object sets the property: a large
// schema has many properties that no object sets. An acceptor is safe for concurrent use.
type acceptor struct {
	// types are the types of the schema; none allows all.
	types    jsonTypes
	nullable bool
	// upstream validates scalars that scalars cannot judge, or all values if whole is set. It
	// is nil if the type is the only keyword for scalars.
	upstream *validate.SchemaValidator
	scalars  scalarAcceptor
	whole    bool

	required     []string
	fewest, most *int64 // the number of properties
	// schemas and properties have the same keys. An entry of properties is nil until an
	// object sets the property.
	schemas                map[string]spec.Schema
	properties             map[string]*atomic.Pointer[acceptor]
	additional             *acceptor
	items                  *acceptor
	fewestItems, mostItems *int64
}

// jsonTypes is a set of types of JSON values.
type jsonTypes uint8

const (
	stringType jsonTypes = 1 << iota
	integerType
	numberType
	booleanType
	objectType
	arrayType
)

// newAcceptor returns the acceptor of a schema that upstream's validator uses. The schema
// must not change afterwards.
func newAcceptor(s *spec.Schema) *acceptor {
	a := &acceptor{nullable: s.Nullable}
	for _, name := range s.Type {
		a.types |= typesByName[name]
	}
	if !isPlain(s) || len(s.Type) > 0 && a.types == 0 {
		a.whole, a.upstream = true, newUpstream(s)
		return a
	}
	if constrainsScalars(s) {
		a.upstream, a.scalars = newUpstream(s), newScalarAcceptor(s)
	}
	a.required, a.fewest, a.most = s.Required, s.MinProperties, s.MaxProperties
	a.fewestItems, a.mostItems = s.MinItems, s.MaxItems
	if len(s.Properties) > 0 {
		a.schemas, a.properties = s.Properties, make(map[string]*atomic.Pointer[acceptor], len(s.Properties))
		pointers := make([]atomic.Pointer[acceptor], len(s.Properties))
		for name := range s.Properties {
			a.properties[name], pointers = &pointers[0], pointers[1:]
		}
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		a.additional = newAcceptor(s.AdditionalProperties.Schema)
	}
	if s.Items != nil {
		a.items = newAcceptor(s.Items.Schema)
	}
	return a
}

// property returns the acceptor of a property, nil if the schema does not name it.
func (a *acceptor) property(name string) *acceptor {
	built := a.properties[name]
	if built == nil {
		return nil
	}
	if child := built.Load(); child != nil {
		return child
	}
	child := a.schemas[name]
	built.CompareAndSwap(nil, newAcceptor(&child))
	return built.Load()
}

var typesByName = map[string]jsonTypes{
	"string": stringType, "integer": integerType, "number": numberType, "boolean": booleanType,
	"object": objectType, "array": arrayType,
}

func newUpstream(s *spec.Schema) *validate.SchemaValidator {
	return validate.NewSchemaValidator(s, nil, "", strfmt.Default)
}

// isPlain reports whether an acceptor can check objects and lists of a schema itself.
func isPlain(s *spec.Schema) bool {
	logic := len(s.AllOf) > 0 || len(s.AnyOf) > 0 || len(s.OneOf) > 0 || s.Not != nil || len(s.Dependencies) > 0
	closed := s.AdditionalProperties != nil && !s.AdditionalProperties.Allows
	tuple := s.AdditionalItems != nil || s.Items != nil && (s.Items.Schema == nil || len(s.Items.Schemas) > 0)
	// Upstream refuses an object if the schema has a format and no type.
	formatOnly := s.Format != "" && len(s.Type) == 0
	return !logic && !closed && !tuple && !formatOnly && len(s.PatternProperties) == 0 && !s.UniqueItems &&
		(len(s.Enum) == 0 || !isContainer(s))
}

// isContainer reports whether values of a schema may be objects or lists.
func isContainer(s *spec.Schema) bool {
	return len(s.Type) == 0 || s.Type.Contains("object") || s.Type.Contains("array")
}

// constrainsScalars reports whether a schema has keywords, other than the type, for
// strings, numbers or booleans.
func constrainsScalars(s *spec.Schema) bool {
	return s.Format != "" || len(s.Enum) > 0 || s.Pattern != "" || s.MinLength != nil || s.MaxLength != nil ||
		s.Minimum != nil || s.Maximum != nil || s.MultipleOf != nil
}

// accepts reports whether a value is surely valid. If it returns false, the value may still
// be valid. The value known is valid, or nil; what v shares with it is not looked at.
func (a *acceptor) accepts(v, known any) bool {
	if known != nil && same(v, known) {
		return true
	}
	if a.whole {
		return a.upstream.Validate(v).IsValid()
	}
	switch v := v.(type) {
	case nil:
		return a.nullable && a.upstream == nil
	case string:
		return a.acceptsScalar(v, stringType)
	case bool:
		return a.acceptsScalar(v, booleanType)
	case int64:
		return a.acceptsScalar(v, integerType|numberType)
	case float64:
		return a.acceptsScalar(v, numberType)
	case map[string]any:
		return a.allows(objectType) && a.acceptsObject(v, known)
	case []any:
		return a.allows(arrayType) && a.acceptsList(v, known)
	}
	return false
}

// allows reports whether the schema allows one of these types.
func (a *acceptor) allows(types jsonTypes) bool { return a.types == 0 || a.types&types != 0 }

func (a *acceptor) acceptsScalar(v any, types jsonTypes) bool {
	if a.upstream == nil || a.allows(types) && a.scalars.accepts(v) {
		return a.allows(types)
	}
	return a.upstream.Validate(v).IsValid()
}

func (a *acceptor) acceptsObject(obj map[string]any, known any) bool {
	if !within(len(obj), a.fewest, a.most) {
		return false
	}
	for _, name := range a.required {
		if _, ok := obj[name]; !ok {
			return false
		}
	}
	knownObj, _ := known.(map[string]any)
	for name, v := range obj {
		child := a.property(name)
		if child == nil {
			child = a.additional
		}
		if child != nil && !child.accepts(v, knownObj[name]) {
			return false
		}
	}
	return true
}

func (a *acceptor) acceptsList(list []any, known any) bool {
	if !within(len(list), a.fewestItems, a.mostItems) {
		return false
	}
	if a.items == nil {
		return true
	}
	knownList, _ := known.([]any)
	for i, item := range list {
		var knownItem any
		if i < len(knownList) {
			knownItem = knownList[i]
		}
		if !a.items.accepts(item, knownItem) {
			return false
		}
	}
	return true
}

// within reports whether a size is not below fewest and not above most. A nil bound does
// not exist.
func within(size int, fewest, most *int64) bool {
	return (fewest == nil || int64(size) >= *fewest) && (most == nil || int64(size) <= *most)
}
