//go:build plain

package object

import "k8s.io/apimachinery/pkg/runtime"

// quick chooses the quick form.
const quick = false

// copyOf copies the content of an object.
func copyOf(content map[string]any) map[string]any { return runtime.DeepCopyJSON(content) }
