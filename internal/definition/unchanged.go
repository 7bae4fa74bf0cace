package definition

import (
	"reflect"
	"sync"

	apiservervalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"

	"holdfast.dev/holdfast/value"
)

// valueValidator validates values against a schema. If an acceptor does not accept the
// value, upstream's validator validates it. It skips values that an update does not
// change. Upstream validates them too and then drops their errors, which is most of the
// work of most updates.
type valueValidator struct {
	schema *spec.Schema
	// acceptor returns the acceptor of schema. The first call builds it.
	acceptor func() *acceptor
}

func newValueValidator(s *spec.Schema) valueValidator {
	return valueValidator{schema: s, acceptor: sync.OnceValue(func() *acceptor { return newAcceptor(s) })}
}

var _ apiservervalidation.SchemaValidator = valueValidator{}

// Validate implements apiservervalidation.SchemaValidator.
func (v valueValidator) Validate(newValue any, _ ...apiservervalidation.ValidationOption) *validate.Result {
	if v.acceptor().accepts(newValue, nil) {
		return &validate.Result{}
	}
	return newUpstream(v.schema).Validate(newValue)
}

// ValidateUpdate implements apiservervalidation.SchemaValidator. It finds the old
// value in the options, not in the arguments.
func (v valueValidator) ValidateUpdate(newValue, _ any, options ...apiservervalidation.ValidationOption) *validate.Result {
	if v.acceptor().accepts(newValue, nil) {
		return &validate.Result{}
	}
	pair := apiservervalidation.NewValidationOptions(options...).CorrelatedObject
	if pair == nil {
		return v.Validate(newValue)
	}
	return updateValidator{pair: pair, schema: v.schema, formats: strfmt.Default}.Validate(newValue)
}

// updateValidator validates one value of an object that is being updated.
type updateValidator struct {
	pair    *common.CorrelatedObject // the old and the new value
	schema  *spec.Schema
	root    any
	path    string
	formats strfmt.Registry
	options []validate.Option
}

var (
	_ validate.ValueValidator = updateValidator{}
	_ validate.ValueValidator = unchanged{}
)

// Validate implements validate.ValueValidator.
func (p updateValidator) Validate(any) *validate.Result {
	children := func(options *validate.SchemaValidatorOptions) {
		options.NewValidatorForField, options.NewValidatorForIndex = p.field, p.index
	}
	options := append([]validate.Option{children}, p.options...)
	result := validate.NewSchemaValidator(p.schema, p.root, p.path, p.formats, options...).Validate(p.pair.Value)
	if !result.IsValid() && p.pair.CachedDeepEqual() {
		// The values differ only in the order of lists of type map or set.
		return &validate.Result{}
	}
	return result
}

// field returns the validator of a field. It never skips the apiVersion and kind
// of the object itself.
func (p updateValidator) field(
	name string, schema *spec.Schema, root any, path string, formats strfmt.Registry, options ...validate.Option,
) validate.ValueValidator {
	if p.path == "" && (name == "apiVersion" || name == "kind") {
		return validate.NewSchemaValidator(schema, root, path, formats, options...)
	}
	return updateValidator{pair: p.pair.Key(name), schema: schema, root: root, path: path, formats: formats, options: options}.validator()
}

// index returns the validator of an item of a list.
func (p updateValidator) index(
	i int, schema *spec.Schema, root any, path string, formats strfmt.Registry, options ...validate.Option,
) validate.ValueValidator {
	return updateValidator{pair: p.pair.Index(i), schema: schema, root: root, path: path, formats: formats, options: options}.validator()
}

// validator returns unchanged if the old and the new value are equal.
func (p updateValidator) validator() validate.ValueValidator {
	switch {
	case p.pair == nil:
		return validate.NewSchemaValidator(p.schema, p.root, p.path, p.formats, p.options...)
	case value.Strict.Equal(p.pair.OldValue, p.pair.Value):
		return unchanged{}
	}
	return p
}

// SetPath implements validate.ValueValidator. Upstream does not call it.
func (updateValidator) SetPath(string) {}

// Applies implements validate.ValueValidator.
func (updateValidator) Applies(any, reflect.Kind) bool { return true }

// unchanged is the validator of a value that the update does not change. It
// reports no errors.
type unchanged struct{}

// Validate implements validate.ValueValidator.
func (unchanged) Validate(any) *validate.Result { return &validate.Result{} }

// SetPath implements validate.ValueValidator.
func (unchanged) SetPath(string) {}

// Applies implements validate.ValueValidator.
func (unchanged) Applies(any, reflect.Kind) bool { return true }
