//go:build plain

package documents

import (
	"holdfast.dev/holdfast/apiserver/custom/documents/assembled"
	"holdfast.dev/holdfast/apiserver/custom/documents/plain"
)

func newForm(assembled.Identify) form { return plain.Form{} }
