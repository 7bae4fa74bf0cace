package schema

import "encoding/json"

// The extensions of Holdfast, as they are written in a definition.
const (
	// ImmutableKeyword marks a field: its value cannot change after it is set.
	ImmutableKeyword = "x-kubernetes-immutable"
	// ImmutableKeysKeyword marks an object or a map: keys cannot be added or removed, and
	// their values can change.
	ImmutableKeysKeyword = "x-kubernetes-immutable-keys"
	// AdditionOnlyKeyword marks an object, a map or a list: keys or items can be added, but not
	// removed.
	AdditionOnlyKeyword = "x-kubernetes-addition-only"
	// DeletionOnlyKeyword marks an object, a map or a list: keys or items can be removed, but
	// not added.
	DeletionOnlyKeyword = "x-kubernetes-deletion-only"
	// UpdateKeyword is a set of constraints, with the names that Kubernetes has for Go types: NoSet, NoUnset, NoModify,
	// NoAddItem, NoRemoveItem. Each of the markers above is short for such a set.
	UpdateKeyword = "x-kubernetes-update"
	// NoPruneKeyword keeps the unknown fields of an object.
	NoPruneKeyword = "x-kubernetes-no-prune"
	// NormalizeKeyword with the value "undefined" stores null and empty values of an object as
	// absent.
	NormalizeKeyword = "x-kubernetes-normalize"
)

// The extensions of Kubernetes, as they are written in a definition.
const (
	// PreserveUnknownFieldsKeyword keeps unknown fields, as in Kubernetes.
	PreserveUnknownFieldsKeyword = "x-kubernetes-preserve-unknown-fields"
	// EmbeddedResourceKeyword marks an object with apiVersion, kind and metadata, as in
	// Kubernetes.
	EmbeddedResourceKeyword = "x-kubernetes-embedded-resource"
	// IntOrStringKeyword allows a number or a string, as in Kubernetes.
	IntOrStringKeyword = "x-kubernetes-int-or-string"
	// ListTypeKeyword is "atomic", "set" or "map", as in Kubernetes. Markers identify the items
	// of a list by it.
	ListTypeKeyword = "x-kubernetes-list-type"
	// ListMapKeysKeyword names the keys of the items of a list of type map, as in Kubernetes.
	ListMapKeysKeyword = "x-kubernetes-list-map-keys"
	// MapTypeKeyword is "granular" or "atomic", as in Kubernetes.
	MapTypeKeyword = "x-kubernetes-map-type"
	// ValidationsKeyword lists the CEL rules of a field, as in Kubernetes.
	ValidationsKeyword = "x-kubernetes-validations"
)

// Schema is one node. The zero value is the empty schema {}, which accepts every value.
//
// A nil pointer, slice or map and an empty number mean that the keyword is absent. An
// empty slice or map means that it is present and empty. For strings and bools, Blank
// says whether the zero value was written.
type Schema struct {
	// The structure. It is first because every walk reads it.

	Type                 string // one of object, array, string, integer, number, boolean; not checked here
	Nullable             bool
	EmbeddedResource     bool
	IntOrString          bool
	Properties           map[string]*Schema
	PatternProperties    map[string]*Schema
	AdditionalProperties *SchemaOrBool
	Items                *Schema   // items as one schema
	Tuple                []*Schema // items as a list: one schema per position
	AdditionalItems      *SchemaOrBool
	AllOf                []*Schema
	AnyOf                []*Schema
	OneOf                []*Schema
	Not                  *Schema

	PreserveUnknownFields *bool

	// The extensions of Holdfast. They are pointers because the validation of
	// definitions refuses false, so absent and false are different.

	NoPrune       *bool
	Normalize     *string
	Immutable     *bool
	ImmutableKeys *bool
	AdditionOnly  *bool
	DeletionOnly  *bool
	Update        []string

	Default     any // a JSON value; null is absent
	ListType    string
	MapType     string
	ListMapKeys []string

	// Value validation.

	Format           string
	Enum             []any
	Maximum          json.Number // keeps integers beyond 2^53 exact
	Minimum          json.Number
	MultipleOf       json.Number
	ExclusiveMaximum bool
	ExclusiveMinimum bool
	UniqueItems      bool
	MaxLength        *int64
	MinLength        *int64
	Pattern          string
	MaxItems         *int64
	MinItems         *int64
	MaxProperties    *int64
	MinProperties    *int64
	Required         []string
	Validations      []*ValidationRule

	// Documentation, and keywords that definitions may not use.

	Description  string
	Title        string
	Example      any // a JSON value; null is absent
	ExternalDocs *ExternalDocs
	ID           string // id
	SchemaURL    string // $schema
	Ref          *string
	Definitions  map[string]*Schema
	Dependencies map[string]*Dependency

	// Blank is the set of keywords that were written with their zero value, such as
	// nullable: false. They mean the same as absent keywords, and Encode writes them
	// again.
	Blank Blank
}

// SchemaOrBool is the value of additionalProperties and additionalItems.
type SchemaOrBool struct {
	// Schema is nil when a bool was given.
	Schema *Schema
	// Allows is the bool, and true beside a Schema.
	Allows bool
}

// Dependency is one value of dependencies: a schema or a list of names.
type Dependency struct {
	Schema   *Schema
	Property []string
}

// ExternalDocs is a link to documentation.
type ExternalDocs struct {
	Description string
	URL         string
	Blank       Blank
}

// ValidationRule is one CEL rule of x-kubernetes-validations.
type ValidationRule struct {
	Rule              string
	Message           string
	MessageExpression string
	Reason            *string
	FieldPath         string
	OptionalOldSelf   *bool
	Blank             Blank
}

// IsTrue reports whether a flag or marker is present and true.
func IsTrue(flag *bool) bool { return flag != nil && *flag }

// IsMap reports whether the node describes keys that it does not name: it has
// patternProperties, or additionalProperties that are a schema or true.
func (s *Schema) IsMap() bool {
	return len(s.PatternProperties) > 0 || s.AdditionalProperties != nil && s.AdditionalProperties.Allows
}
