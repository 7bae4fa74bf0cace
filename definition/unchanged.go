package definition

import (
	"reflect"

	apiservervalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// valueValidator holds values to a schema, with upstream's validator. What an
// update leaves as it was is passed over: upstream would look at it and then
// forget what it found, which for most updates is nearly all of the work.
type valueValidator struct{ schema *spec.Schema }

var _ apiservervalidation.SchemaValidator = valueValidator{}

// Validate implements apiservervalidation.SchemaValidator.
func (v valueValidator) Validate(value any, _ ...apiservervalidation.ValidationOption) *validate.Result {
	return validate.NewSchemaValidator(v.schema, nil, "", strfmt.Default).Validate(value)
}

// ValidateUpdate implements apiservervalidation.SchemaValidator. The old value is
// the one that the options tie to the new one.
func (v valueValidator) ValidateUpdate(newValue, _ any, options ...apiservervalidation.ValidationOption) *validate.Result {
	tied := apiservervalidation.NewValidationOptions(options...).CorrelatedObject
	if tied == nil {
		return v.Validate(newValue)
	}
	return place{tied: tied, schema: v.schema, formats: strfmt.Default}.Validate(newValue)
}

// place is somewhere in an object that is being updated.
type place struct {
	tied    *common.CorrelatedObject
	schema  *spec.Schema
	root    any
	path    string
	formats strfmt.Registry
	options []validate.Option
}

var (
	_ validate.ValueValidator = place{}
	_ validate.ValueValidator = unchanged{}
)

// Validate implements validate.ValueValidator.
func (p place) Validate(any) *validate.Result {
	follow := func(options *validate.SchemaValidatorOptions) {
		options.NewValidatorForField, options.NewValidatorForIndex = p.field, p.index
	}
	options := append([]validate.Option{follow}, p.options...)
	result := validate.NewSchemaValidator(p.schema, p.root, p.path, p.formats, options...).Validate(p.tied.Value)
	if !result.IsValid() && p.tied.CachedDeepEqual() {
		// Equal by the keys of its lists, if not in their order.
		return &validate.Result{}
	}
	return result
}

// field is called for each field of the place. The apiVersion and kind of the
// object itself are judged whatever they were.
func (p place) field(name string, schema *spec.Schema, root any, path string, formats strfmt.Registry, options ...validate.Option) validate.ValueValidator {
	if p.path == "" && (name == "apiVersion" || name == "kind") {
		return validate.NewSchemaValidator(schema, root, path, formats, options...)
	}
	return place{tied: p.tied.Key(name), schema: schema, root: root, path: path, formats: formats, options: options}.validator()
}

// index is field for the items of a list.
func (p place) index(i int, schema *spec.Schema, root any, path string, formats strfmt.Registry, options ...validate.Option) validate.ValueValidator {
	return place{tied: p.tied.Index(i), schema: schema, root: root, path: path, formats: formats, options: options}.validator()
}

// validator is what judges the place: nobody if it is as it was.
func (p place) validator() validate.ValueValidator {
	switch {
	case p.tied == nil:
		return validate.NewSchemaValidator(p.schema, p.root, p.path, p.formats, p.options...)
	case equal(p.tied.OldValue, p.tied.Value):
		return unchanged{}
	}
	return p
}

// SetPath implements validate.ValueValidator, where nobody calls it.
func (place) SetPath(string) {}

// Applies implements validate.ValueValidator.
func (place) Applies(any, reflect.Kind) bool { return true }

// unchanged finds nothing.
type unchanged struct{}

// Validate implements validate.ValueValidator.
func (unchanged) Validate(any) *validate.Result { return &validate.Result{} }

// SetPath implements validate.ValueValidator.
func (unchanged) SetPath(string) {}

// Applies implements validate.ValueValidator.
func (unchanged) Applies(any, reflect.Kind) bool { return true }

// equal says whether two JSON values are one, strictly.
func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for key, value := range a {
			if other, ok := b[key]; !ok || !equal(value, other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !equal(a[i], b[i]) {
				return false
			}
		}
		return true
	case nil, string, bool, int64, float64:
		return a == b
	}
	return reflect.DeepEqual(a, b)
}
