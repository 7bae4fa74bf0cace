//go:build !plain

package stored

import "k8s.io/apimachinery/pkg/runtime"

// New returns a decoder of stored definitions. The library is a decoder of all objects.
func New(library runtime.Decoder) runtime.Decoder { return decoder{library} }
