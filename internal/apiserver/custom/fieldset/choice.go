//go:build !plain

package fieldset

import "holdfast.dev/holdfast/internal/apiserver/custom/text"

// New returns sets, and a format that uses them.
func New() (*Sets, text.Format) { return newSets() }
