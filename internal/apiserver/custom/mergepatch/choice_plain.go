//go:build plain

package mergepatch

import (
	"holdfast.dev/holdfast/internal/apiserver/custom/kind"
	"holdfast.dev/holdfast/internal/apiserver/custom/text"
)

// New returns the plain form.
func New(_ *kind.Version, format text.Format) Patcher { return Library{format} }
