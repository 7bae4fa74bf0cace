//go:build failpoints

package failpoint

import (
	"fmt"
	"io"
	"net"
	"net/http"
)

// serve lets other processes steer the failpoints, until the process ends.
func (r *registry) serve(address string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("serve failpoints: %w", err)
	}
	//nolint:gosec // the program with failpoints is for tests
	go func() { _ = http.Serve(listener, r.handler()) }()
	return nil
}

func (r *registry) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /{name}", func(w http.ResponseWriter, request *http.Request) {
		actions, err := io.ReadAll(request.Body)
		if err == nil {
			err = r.arm(request.PathValue("name"), string(actions))
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("DELETE /{name}", func(w http.ResponseWriter, request *http.Request) {
		_ = r.arm(request.PathValue("name"), "off")
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /{name}/count", func(w http.ResponseWriter, request *http.Request) {
		_, _ = fmt.Fprint(w, r.count(request.PathValue("name")))
	})
	return mux
}
