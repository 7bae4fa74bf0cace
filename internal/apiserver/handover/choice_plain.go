//go:build plain

package handover

import (
	"net/http"

	"k8s.io/apiserver/pkg/util/flowcontrol"
)

// Around returns the filters.
func Around(filters http.Handler) http.Handler { return filters }

// Into returns the handler.
func Into(next http.Handler, _ Config) http.Handler { return next }

// Count returns the flow control.
func Count(inner flowcontrol.Interface) flowcontrol.Interface { return inner }
