//go:build plain

package documents

import (
	"holdfast.dev/holdfast/internal/apiserver/custom/documents/assembled"
	"holdfast.dev/holdfast/internal/apiserver/custom/documents/plain"
)

func newForm(assembled.Identify) form { return plain.Form{} }
