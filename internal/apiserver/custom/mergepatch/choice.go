//go:build !plain

package mergepatch

import (
	"holdfast.dev/holdfast/internal/apiserver/custom/kind"
	"holdfast.dev/holdfast/internal/apiserver/custom/text"
)

// New returns the quick form for the objects of a version.
func New(v *kind.Version, format text.Format) Patcher { return newQuick(v, format) }
