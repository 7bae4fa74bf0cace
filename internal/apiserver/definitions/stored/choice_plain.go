//go:build plain

package stored

import "k8s.io/apimachinery/pkg/runtime"

// New returns the library.
func New(library runtime.Decoder) runtime.Decoder { return library }
