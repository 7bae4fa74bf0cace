//go:build plain

package watches

import (
	"net/http"
	"time"
)

// New returns the plain form, which serves nothing.
func New(time.Duration) *Server { return nil }

// Wrap returns the handlers of the library.
func (s *Server) Wrap(next http.Handler) http.Handler { return next }
