package ownership

import "slices"

// contains reports whether v has every value of part. It does not require equal
// values, because the server may have added defaults inside of a value that apply
// treats as one field.
func contains(v, part any) bool {
	switch part := part.(type) {
	case map[string]any:
		v, ok := v.(map[string]any)
		if !ok {
			return false
		}
		for k, p := range part {
			if p != nil && !contains(field(v, k), p) {
				return false
			}
		}
		return true
	case []any:
		v, ok := v.([]any)
		return !ok && len(part) == 0 || ok && slices.EqualFunc(v, part, contains)
	}
	return equal(v, part)
}
