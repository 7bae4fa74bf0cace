package schema

import (
	"maps"
	"slices"
)

// Blank is a set of keywords, see [Schema.Blank].
type Blank uint32

const (
	blankID Blank = 1 << iota
	blankSchemaURL
	blankDescription
	blankTitle
	blankType
	blankFormat
	blankNullable
	blankExclusiveMaximum
	blankExclusiveMinimum
	blankPattern
	blankUniqueItems
	blankEmbeddedResource
	blankIntOrString
	blankListType
	blankMapType
	blankURL
	blankRule
	blankMessage
	blankMessageExpression
	blankFieldPath
)

// object describes how the keys of a JSON object are stored in a T.
type object[T any] struct {
	keywords map[string]keyword[T]
	blank    func(*T) *Blank
}

// keyword describes the field that has the value of a key. The type of the field says
// which values the key may have; decode and encode switch on it.
type keyword[T any] struct {
	at    func(*T) any // returns a pointer to the field
	blank Blank        // only for strings and bools
}

// schemaKeywords has every keyword of a schema.
var schemaKeywords = object[Schema]{map[string]keyword[Schema]{
	"id":          {func(s *Schema) any { return &s.ID }, blankID},
	"$schema":     {func(s *Schema) any { return &s.SchemaURL }, blankSchemaURL},
	"$ref":        {func(s *Schema) any { return &s.Ref }, 0},
	"description": {func(s *Schema) any { return &s.Description }, blankDescription},
	"title":       {func(s *Schema) any { return &s.Title }, blankTitle},
	"type":        {func(s *Schema) any { return &s.Type }, blankType},
	"format":      {func(s *Schema) any { return &s.Format }, blankFormat},
	"nullable":    {func(s *Schema) any { return &s.Nullable }, blankNullable},
	"default":     {func(s *Schema) any { return &s.Default }, 0},
	"example":     {func(s *Schema) any { return &s.Example }, 0},
	"enum":        {func(s *Schema) any { return &s.Enum }, 0},

	"maximum":          {func(s *Schema) any { return &s.Maximum }, 0},
	"minimum":          {func(s *Schema) any { return &s.Minimum }, 0},
	"multipleOf":       {func(s *Schema) any { return &s.MultipleOf }, 0},
	"exclusiveMaximum": {func(s *Schema) any { return &s.ExclusiveMaximum }, blankExclusiveMaximum},
	"exclusiveMinimum": {func(s *Schema) any { return &s.ExclusiveMinimum }, blankExclusiveMinimum},
	"maxLength":        {func(s *Schema) any { return &s.MaxLength }, 0},
	"minLength":        {func(s *Schema) any { return &s.MinLength }, 0},
	"pattern":          {func(s *Schema) any { return &s.Pattern }, blankPattern},
	"maxItems":         {func(s *Schema) any { return &s.MaxItems }, 0},
	"minItems":         {func(s *Schema) any { return &s.MinItems }, 0},
	"uniqueItems":      {func(s *Schema) any { return &s.UniqueItems }, blankUniqueItems},
	"maxProperties":    {func(s *Schema) any { return &s.MaxProperties }, 0},
	"minProperties":    {func(s *Schema) any { return &s.MinProperties }, 0},
	"required":         {func(s *Schema) any { return &s.Required }, 0},

	// items has two forms, each with its own field.
	"items":                {func(s *Schema) any { return items{s} }, 0},
	"additionalItems":      {func(s *Schema) any { return &s.AdditionalItems }, 0},
	"properties":           {func(s *Schema) any { return &s.Properties }, 0},
	"patternProperties":    {func(s *Schema) any { return &s.PatternProperties }, 0},
	"additionalProperties": {func(s *Schema) any { return &s.AdditionalProperties }, 0},

	"allOf":        {func(s *Schema) any { return &s.AllOf }, 0},
	"anyOf":        {func(s *Schema) any { return &s.AnyOf }, 0},
	"oneOf":        {func(s *Schema) any { return &s.OneOf }, 0},
	"not":          {func(s *Schema) any { return &s.Not }, 0},
	"definitions":  {func(s *Schema) any { return &s.Definitions }, 0},
	"dependencies": {func(s *Schema) any { return &s.Dependencies }, 0},
	"externalDocs": {func(s *Schema) any { return &s.ExternalDocs }, 0},

	PreserveUnknownFieldsKeyword: {func(s *Schema) any { return &s.PreserveUnknownFields }, 0},
	EmbeddedResourceKeyword:      {func(s *Schema) any { return &s.EmbeddedResource }, blankEmbeddedResource},
	IntOrStringKeyword:           {func(s *Schema) any { return &s.IntOrString }, blankIntOrString},
	ListTypeKeyword:              {func(s *Schema) any { return &s.ListType }, blankListType},
	ListMapKeysKeyword:           {func(s *Schema) any { return &s.ListMapKeys }, 0},
	MapTypeKeyword:               {func(s *Schema) any { return &s.MapType }, blankMapType},
	ValidationsKeyword:           {func(s *Schema) any { return &s.Validations }, 0},

	ImmutableKeyword:     {func(s *Schema) any { return &s.Immutable }, 0},
	ImmutableKeysKeyword: {func(s *Schema) any { return &s.ImmutableKeys }, 0},
	AdditionOnlyKeyword:  {func(s *Schema) any { return &s.AdditionOnly }, 0},
	DeletionOnlyKeyword:  {func(s *Schema) any { return &s.DeletionOnly }, 0},
	UpdateKeyword:        {func(s *Schema) any { return &s.Update }, 0},
	NoPruneKeyword:       {func(s *Schema) any { return &s.NoPrune }, 0},
	NormalizeKeyword:     {func(s *Schema) any { return &s.Normalize }, 0},
}, func(v *Schema) *Blank { return &v.Blank }}

var externalDocsKeywords = object[ExternalDocs]{map[string]keyword[ExternalDocs]{
	"description": {func(d *ExternalDocs) any { return &d.Description }, blankDescription},
	"url":         {func(d *ExternalDocs) any { return &d.URL }, blankURL},
}, func(v *ExternalDocs) *Blank { return &v.Blank }}

var validationRuleKeywords = object[ValidationRule]{map[string]keyword[ValidationRule]{
	"rule":              {func(r *ValidationRule) any { return &r.Rule }, blankRule},
	"message":           {func(r *ValidationRule) any { return &r.Message }, blankMessage},
	"messageExpression": {func(r *ValidationRule) any { return &r.MessageExpression }, blankMessageExpression},
	"reason":            {func(r *ValidationRule) any { return &r.Reason }, 0},
	"fieldPath":         {func(r *ValidationRule) any { return &r.FieldPath }, blankFieldPath},
	"optionalOldSelf":   {func(r *ValidationRule) any { return &r.OptionalOldSelf }, 0},
}, func(v *ValidationRule) *Blank { return &v.Blank }}

type items struct{ of *Schema }

// Keywords returns every keyword of a schema, sorted.
func Keywords() []string {
	return slices.Sorted(maps.Keys(schemaKeywords.keywords))
}
