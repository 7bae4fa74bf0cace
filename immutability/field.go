package immutability

import (
	"strings"

	"holdfast.dev/holdfast/schema"
)

// Field is a path in a schema as the path of the values it is about:
// spec.ports[*].port for properties[spec].properties[ports].items.properties[port],
// with * for every key of a map. Paths inside of logic are left as they are.
func Field(path *schema.Path) string {
	var steps []string
	for p := path; p != nil; p = p.Parent() {
		steps = append(steps, p.Last())
	}
	var b strings.Builder
	for i := len(steps) - 1; i >= 0; i-- {
		switch steps[i] {
		case "properties":
			if i--; i >= 0 {
				b.WriteString(step{name: steps[i]}.text(b.Len() == 0))
			}
		case "patternProperties":
			i--
			b.WriteString(".*")
		case "additionalProperties":
			b.WriteString(".*")
		case "items":
			b.WriteString("[*]")
			// By position, an index follows; it has no name.
			if i > 0 && steps[i-1] == "" {
				i--
			}
		case "additionalItems":
			b.WriteString("[*]")
		default:
			return path.String()
		}
	}
	return b.String()
}
