package definition

import (
	"math"
	"slices"
	"unicode/utf8"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// scalarAcceptor finds out quickly that a string or a number is valid. Upstream's validator allocates a result for
// each keyword of each value. Most values of an object are scalars with a keyword, such as a greatest length.
type scalarAcceptor struct {
	shortest, longest *int64
	pattern, format   string
	// enum holds the allowed strings if the schema has an enum.
	enum []string
	// numbers reports whether least and greatest are the only keywords for numbers.
	numbers         bool
	least, greatest float64
}

// maxExact is the greatest number up to which all integers are exact in a float64.
const maxExact = 1 << 53

func newScalarAcceptor(s *spec.Schema) scalarAcceptor {
	a := scalarAcceptor{
		shortest: s.MinLength, longest: s.MaxLength, pattern: s.Pattern, format: s.Format,
		least: -maxExact, greatest: maxExact,
		numbers: s.Format == "" && len(s.Enum) == 0 && s.MultipleOf == nil && !s.ExclusiveMinimum && !s.ExclusiveMaximum,
	}
	for _, allowed := range s.Enum {
		if text, ok := allowed.(string); ok {
			a.enum = append(a.enum, text)
		}
	}
	if len(s.Enum) > 0 && a.enum == nil {
		a.enum = []string{} // no string is allowed
	}
	if s.Minimum != nil {
		a.least = *s.Minimum
	}
	if s.Maximum != nil {
		a.greatest = *s.Maximum
	}
	// Upstream cuts the bounds of an integer to integers.
	a.numbers = a.numbers && isExact(a.least) && isExact(a.greatest)
	return a
}

func isExact(f float64) bool { return f == math.Trunc(f) && math.Abs(f) <= maxExact }

// accepts reports whether a value of an allowed type is surely valid. If it returns false, the value may still be valid.
func (a *scalarAcceptor) accepts(v any) bool {
	switch v := v.(type) {
	case string:
		return a.acceptsString(v)
	case int64:
		return a.acceptsNumber(float64(v))
	case float64:
		return a.acceptsNumber(v)
	}
	return false
}

func (a *scalarAcceptor) acceptsNumber(f float64) bool {
	return a.numbers && math.Abs(f) < maxExact && f >= a.least && f <= a.greatest
}

func (a *scalarAcceptor) acceptsString(text string) bool {
	if a.shortest != nil || a.longest != nil {
		if !within(utf8.RuneCountInString(text), a.shortest, a.longest) {
			return false
		}
	}
	if a.enum != nil && !slices.Contains(a.enum, text) {
		return false
	}
	if a.format != "" && !strfmt.Default.Validates(a.format, text) {
		return false
	}
	// Upstream caches the compiled patterns.
	return a.pattern == "" || validate.Pattern("", "", text, a.pattern) == nil
}
