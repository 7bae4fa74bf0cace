//go:build plain

package fieldset

import "holdfast.dev/holdfast/internal/apiserver/custom/text"

// New returns the plain form, which keeps no sets.
func New() (*Sets, text.Format) { return nil, text.New(nil) }
