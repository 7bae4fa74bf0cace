package parameters

import (
	"fmt"
	"strings"
)

// Definition describes one parameter of an operator version.
type Definition struct {
	Name string
	// Type of the value; "" is String.
	Type Type
	// Required means that there must be a value, given or by default.
	Required bool
	// Default is the value of a parameter that has none, nil for no default.
	Default *string
	// Enum is the list of allowed values, nil for any.
	Enum []string
	// Trigger is the plan that a change runs; "" is update, or deploy where
	// there is no update.
	Trigger string
	// Immutable parameters get their value once.
	Immutable bool
}

// Version is what one operator version says about parameters and plans.
type Version struct {
	// Name of the OperatorVersion, such as kafka-2.5.0-1.3.0.
	Name string
	// Operator is the name of the operator it is a version of.
	Operator string
	// Version is spec.version, a semantic version.
	Version string
	// Plans are the names of its plans.
	Plans []string
	// Definitions in the order of the package.
	Definitions []Definition
}

// definition finds a parameter by its name.
func (v *Version) definition(name string) *Definition {
	if v == nil {
		return nil
	}
	for i := range v.Definitions {
		if v.Definitions[i].Name == name {
			return &v.Definitions[i]
		}
	}
	return nil
}

// value is one that may be missing.
type setting struct {
	text string
	set  bool
}

func lookup(values map[string]string, name string) setting {
	text, set := values[name]
	return setting{text, set}
}

// or is the value, or another if it is missing.
func (v setting) or(other setting) setting {
	if v.set {
		return v
	}
	return other
}

// preset is the default.
func (d *Definition) preset() setting {
	if d.Default == nil {
		return setting{}
	}
	return setting{*d.Default, true}
}

// Problem says why a value is not one for the parameter, "" if it is.
func (d *Definition) Problem(text string) string {
	// KUDO takes the empty string for "no value" whatever the type is.
	if text == "" {
		if d.Required && (d.Default == nil || d.Type.orString() != String) {
			return d.missing()
		}
		return ""
	}
	if !d.Type.holds(text) {
		return fmt.Sprintf("parameter '%s' has the value '%s', which is not of type %s", d.Name, brief(text), d.Type.orString())
	}
	if d.Enum == nil {
		return ""
	}
	for _, allowed := range d.Enum {
		if d.Type.same(allowed, text) {
			return ""
		}
	}
	return fmt.Sprintf("parameter '%s' has the value '%s', allowed are '%s'", d.Name, brief(text), brief(strings.Join(d.Enum, "', '")))
}

// missing is the refusal of a required parameter without a value.
func (d *Definition) missing() string {
	return fmt.Sprintf("parameter '%s' is required but no value was provided", d.Name)
}
