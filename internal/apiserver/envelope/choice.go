//go:build !plain

package envelope

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// New returns the quick form of a codec that stores objects of a kind as protobuf.
func New(codec runtime.Codec, scheme *runtime.Scheme, kind schema.GroupVersionKind) runtime.Codec {
	return newCodec(codec, scheme, kind)
}
