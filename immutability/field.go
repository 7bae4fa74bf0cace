package immutability

import "holdfast.dev/holdfast/value"

// Field returns the field that a path in a schema describes:
// spec.ports[*].port for properties[spec].properties[ports].items.properties[port].
// Every key of a map is *. A path inside of allOf, anyOf, oneOf or not is
// returned unchanged.
func Field(path *value.Path) string {
	steps := path.Steps()
	var field []value.Step
	for i := 0; i < len(steps); i++ {
		switch steps[i].Name {
		case "properties":
			if i++; i < len(steps) {
				field = append(field, value.Step{Name: steps[i].Name})
			}
		case "patternProperties":
			i++
			field = append(field, value.Step{Kind: value.AnyName})
		case "additionalProperties":
			field = append(field, value.Step{Kind: value.AnyName})
		case "items":
			field = append(field, value.Step{Kind: value.AnyItem})
			// Items by position have an index.
			if i+1 < len(steps) && steps[i+1].Kind == value.Index {
				i++
			}
		case "additionalItems":
			field = append(field, value.Step{Kind: value.AnyItem})
		default:
			return path.String()
		}
	}
	return value.Notation{}.Steps(field)
}
