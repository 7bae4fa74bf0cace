package escape

import "holdfast.dev/holdfast/schema"

const (
	// maxCost is the estimated cost of a rule that Kubernetes accepts, for all objects in which the rule runs.
	maxCost = 10_000_000
	// maxBytes is the size of an object, from which Kubernetes estimates values without a limit.
	maxBytes = 3 << 20
	// byteCost is the cost of comparing a byte, and stepCost a bound on that of a step of a rule that walks a map or list.
	byteCost = 0.1
	stepCost = 8.0
)

// repeated returns how often a rule on this node runs for one object, by the limits of the maps and lists above it.
func (at *frame) repeated() float64 {
	times := 1.0
	for at = at.parent; at != nil; at = at.parent {
		switch {
		case at.Schema.Type == "array":
			times *= limit(at.Schema.MaxItems)
		case isMap(at.Schema):
			times *= limit(at.Schema.MaxProperties)
		}
	}
	return times
}

// isMap reports whether a node has a schema for the values of all keys.
func isMap(s *schema.Schema) bool {
	return s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil
}

// limit returns the number of items that a limit allows. An item has at least five bytes.
func limit(of *int64) float64 {
	if of == nil {
		return maxBytes / 5
	}
	return float64(*of)
}

// bytesOf returns the size of a value of a schema that Kubernetes estimates, or more. A character has up to four bytes.
func bytesOf(s *schema.Schema) float64 {
	size := float64(maxBytes)
	switch {
	case s == nil:
	case s.Type == "integer" || s.Type == "number" || s.Type == "boolean":
		size = 32
	case s.Type == "string" && s.MaxLength != nil:
		size = 4*float64(*s.MaxLength) + 2
	case s.Type == "array" && s.MaxItems != nil:
		size = limit(s.MaxItems) * bytesOf(s.Items)
	}
	return min(size, maxBytes)
}
