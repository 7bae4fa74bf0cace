//go:build !plain

package watches

import (
	"net/http"
	"time"
)

// New returns a server that has no resources. It keeps a watch without a timeout open for minTimeout at least.
func New(minTimeout time.Duration) *Server { return newServer(minTimeout) }

// Wrap puts the server in front of the handlers of the library.
func (s *Server) Wrap(next http.Handler) http.Handler { return s.wrap(next) }
