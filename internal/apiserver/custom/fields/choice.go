//go:build !plain

package fields

// New returns the quick form for an endpoint. The caller has called CompileWrites of the kind.
func New(e Endpoint) (Recorder, error) { return newQuick(e) }
