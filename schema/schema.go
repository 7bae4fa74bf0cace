package schema

import "encoding/json"

// The keywords that are ours, as they are spelled in a definition.
const (
	ImmutableKeyword     = "x-kubernetes-immutable"
	ImmutableKeysKeyword = "x-kubernetes-immutable-keys"
	AdditionOnlyKeyword  = "x-kubernetes-addition-only"
	DeletionOnlyKeyword  = "x-kubernetes-deletion-only"
	NoPruneKeyword       = "x-kubernetes-no-prune"
	NormalizeKeyword     = "x-kubernetes-normalize"
)

// The extensions of upstream, as they are spelled in a definition.
const (
	PreserveUnknownFieldsKeyword = "x-kubernetes-preserve-unknown-fields"
	EmbeddedResourceKeyword      = "x-kubernetes-embedded-resource"
	IntOrStringKeyword           = "x-kubernetes-int-or-string"
	ListTypeKeyword              = "x-kubernetes-list-type"
	ListMapKeysKeyword           = "x-kubernetes-list-map-keys"
	MapTypeKeyword               = "x-kubernetes-map-type"
	ValidationsKeyword           = "x-kubernetes-validations"
)

// Schema is one node. The zero value is the empty schema {}, which says nothing.
//
// A nil pointer, slice or map and an empty number mean that the keyword is
// absent; an empty slice or map means that it is present and empty. Plain
// strings and bools do not tell absent from zero; Blank does.
type Schema struct {
	// The shape. It stands first because every walk reads it.

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

	// The extensions of Holdfast. Each may be given as false, which definition
	// rules refuse, so absent, true and false are told apart.

	NoPrune       *bool
	Normalize     *string
	Immutable     *bool
	ImmutableKeys *bool
	AdditionOnly  *bool
	DeletionOnly  *bool

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

	// Documentation, and what definitions may not use.

	Description  string
	Title        string
	Example      any // a JSON value; null is absent
	ExternalDocs *ExternalDocs
	ID           string // id
	SchemaURL    string // $schema
	Ref          *string
	Definitions  map[string]*Schema
	Dependencies map[string]*Dependency

	// Blank holds the keywords that were written out with their zero value,
	// such as nullable: false. They mean the same as absent ones, and Encode
	// writes them out again.
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

// ExternalDocs points at documentation elsewhere.
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

// IsTrue says whether a flag or marker is present and true.
func IsTrue(flag *bool) bool { return flag != nil && *flag }

// IsMap says whether additional keys are specified by the node itself: it has
// additionalProperties that are a schema or true, or patternProperties.
func (s *Schema) IsMap() bool {
	return len(s.PatternProperties) > 0 || s.AdditionalProperties != nil && s.AdditionalProperties.Allows
}
