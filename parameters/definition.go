package parameters

import (
	"fmt"
	"slices"
	"strings"
)

// Definition describes one parameter of an operator version.
type Definition struct {
	Name string
	// Type is the type of the value; "" means String.
	Type Type
	// Required means that there must be a value or a default.
	Required bool
	// Default is the value if none is set, nil for no default. An array or a map without a
	// default has the default null, as in KUDO.
	Default *string
	// Enum has the allowed values, nil if all are allowed.
	Enum []string
	// Trigger is the plan that runs if the value changes; "" means update, or deploy if
	// there is no plan update.
	Trigger string
	// Immutable means that the value cannot change once it is set.
	Immutable bool
}

// Version is the parameters and plans of one operator version.
type Version struct {
	// Name is that of the OperatorVersion, such as kafka-2.5.0-1.3.0.
	Name string
	// Operator is the name of the operator.
	Operator string
	// Version is spec.version, a semantic version.
	Version string
	// Plans are the names of its plans.
	Plans []string
	// Definitions are in the order of the package.
	Definitions []Definition
}

// names returns the names of the parameters.
func (v *Version) names() []string {
	var all []string
	for i := range v.Definitions {
		all = append(all, v.Definitions[i].Name)
	}
	return all
}

// definition returns the parameter with a name, nil if there is none.
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

// setting is a value that is either set or absent. If it is absent, text is empty.
type setting struct {
	text string
	set  bool
}

func lookup(values map[string]string, name string) setting {
	text, set := values[name]
	return setting{text, set}
}

// or returns v if it is set, else other.
func (v setting) or(other setting) setting {
	if v.set {
		return v
	}
	return other
}

// defaultSetting returns the default, not set if there is none.
func (d *Definition) defaultSetting() setting {
	switch {
	case d.Default != nil:
		return setting{*d.Default, true}
	case d.Type.isComposite():
		return setting{Null, true}
	}
	return setting{}
}

// DefaultText returns the value if none is set; false if there is none.
func (d *Definition) DefaultText() (string, bool) {
	v := d.defaultSetting()
	return v.text, v.set
}

// Problem says why a value is not valid for the parameter, "" if it is valid.
func (d *Definition) Problem(text string) string {
	message, _ := d.problem(text)
	return message
}

// problem returns the message of Problem, and the message without the value.
func (d *Definition) problem(text string) (message, rule string) {
	// In KUDO the empty string means "no value" for every type.
	if text == "" {
		if d.Required && !d.Type.isComposite() && (d.Default == nil || d.Type.orDefault() != String) {
			return d.missing(), d.missing()
		}
		return "", ""
	}
	if !d.Type.accepts(text) {
		return fmt.Sprintf("parameter '%s' has the value '%s', which is not of type %s", d.Name, brief(text), d.Type.orDefault()),
			fmt.Sprintf("parameter '%s' has a value that is not of type %s", d.Name, d.Type.orDefault())
	}
	if d.Enum == nil || slices.ContainsFunc(d.Enum, func(allowed string) bool { return d.Type.same(allowed, text) }) {
		return "", ""
	}
	allowed := brief(strings.Join(d.Enum, "', '"))
	return fmt.Sprintf("parameter '%s' has the value '%s', allowed are '%s'", d.Name, brief(text), allowed),
		fmt.Sprintf("parameter '%s' has another value than the allowed '%s'", d.Name, allowed)
}

// missing returns the message about a required parameter without a value.
func (d *Definition) missing() string {
	return fmt.Sprintf("parameter '%s' is required but no value was provided", d.Name)
}
