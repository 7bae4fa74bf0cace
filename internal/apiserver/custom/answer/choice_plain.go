//go:build plain

package answer

import "holdfast.dev/holdfast/internal/apiserver/custom/text"

func newForm(text.Format) form { return plain{} }
