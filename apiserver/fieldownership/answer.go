package fieldownership

import (
	"context"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/warning"

	"holdfast.dev/holdfast/ownership"
)

// explainTimeout is how long an answer waits at most for what is remembered.
const explainTimeout = time.Second

// answer adds what is to be said to the answer to a write, when the write has been
// stored: handlers answer with success only then.
type answer struct {
	http.ResponseWriter
	checker *Checker
	attempt *attempt
	request *http.Request
	begun   bool
}

// Unwrap implements responsewriter.UserProvidedDecorator.
func (w *answer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (w *answer) WriteHeader(code int) {
	w.begin(code)
	w.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (w *answer) Write(data []byte) (int, error) {
	w.begin(http.StatusOK)
	return w.ResponseWriter.Write(data)
}

func (w *answer) begin(code int) {
	if w.begun {
		return
	}
	w.begun = true
	// A request that timed out may still be under way, and its attempt with it.
	if code >= 200 && code < 300 {
		w.checker.stored(w.request.Context(), w.attempt)
	}
}

// stored says what there is to say about a write that was stored, or would have
// been, and remembers its command.
func (c *Checker) stored(ctx context.Context, a *attempt) {
	if a.verdict == nil {
		return
	}
	if a.verdict.NeedsCommands() {
		ctx, cancel := context.WithTimeout(ctx, explainTimeout)
		defer cancel()
		// Without it, the managed fields name the writer.
		if commands, err := c.memory.Read(ctx, types.UID(a.uid)); err == nil {
			a.verdict.Explain(commands)
		}
	}
	for _, line := range a.verdict.Warnings() {
		warning.AddWarning(ctx, "", line)
	}
	if len(a.changed) > 0 && !a.dryRun {
		c.memory.Remember(Object{UID: types.UID(a.uid), Path: a.path}, ownership.Command{
			Command: a.writer.Command, Manager: a.writer.Manager, Time: time.Now().UTC().Truncate(time.Second), Fields: a.changed,
		})
	}
}
