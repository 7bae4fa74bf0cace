//go:build !plain

package answer

import "holdfast.dev/holdfast/apiserver/custom/text"

func newForm(format text.Format) form { return newQuick(format) }
