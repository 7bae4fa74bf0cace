//go:build !plain

package handover

import (
	"net/http"

	"k8s.io/apiserver/pkg/util/flowcontrol"
)

// Around goes around the filters, which end with Into.
func Around(filters http.Handler) http.Handler { return around(filters) }

// Into is the last filter before the handler.
func Into(next http.Handler, c Config) http.Handler { return c.into(next) }

// Count returns the flow control for the filters.
func Count(inner flowcontrol.Interface) flowcontrol.Interface { return counting{inner} }
