//go:build !plain

package documents

import "holdfast.dev/holdfast/internal/apiserver/custom/documents/assembled"

func newForm(identify assembled.Identify) form { return assembled.New(identify) }
