//go:build plain

package answer

import "holdfast.dev/holdfast/apiserver/custom/text"

func newForm(text.Format) form { return plain{} }
