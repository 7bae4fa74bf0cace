//go:build plain

package envelope

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// New returns the plain form, which is the codec of the library.
func New(codec runtime.Codec, _ *runtime.Scheme, _ schema.GroupVersionKind) runtime.Codec {
	return codec
}
