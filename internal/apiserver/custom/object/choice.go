//go:build !plain

package object

// quick chooses the quick form.
const quick = true

// copyOf copies the content of an object.
func copyOf(content map[string]any) map[string]any { return Share(content) }
