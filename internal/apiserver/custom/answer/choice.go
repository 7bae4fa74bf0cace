//go:build !plain

package answer

import "holdfast.dev/holdfast/internal/apiserver/custom/text"

func newForm(format text.Format) form { return newQuick(format) }
