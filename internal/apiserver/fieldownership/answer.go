package fieldownership

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/warning"

	"holdfast.dev/holdfast/internal/apiserver/disclosure"
	"holdfast.dev/holdfast/ownership"
)

// explainTimeout is how long a response waits at most for the remembered commands.
const explainTimeout = time.Second

// answer is a ResponseWriter that adds warnings to the response to a stored write. A
// handler writes a success code only after the write is stored.
type answer struct {
	http.ResponseWriter
	checker *Checker
	request *request
	// ctx is the context of the HTTP request, which collects warnings.
	ctx   context.Context
	begun bool
	// held is a status code that is sent with the first bytes of the body, because the body decides about the warnings.
	held int
}

// Unwrap implements responsewriter.UserProvidedDecorator.
func (w *answer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (w *answer) WriteHeader(code int) {
	// A command of a series has no manifest, and expects the conflicts with other series.
	writer := w.request.writer
	if code == http.StatusConflict && !w.begun && writer.Act == ownership.ServerSideApply && !strings.HasPrefix(writer.Manager, ownership.SeriesManagerPrefix) {
		w.begun, w.held = true, code
		return
	}
	w.begin(code)
	w.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (w *answer) Write(data []byte) (int, error) {
	w.begin(http.StatusOK)
	w.release(data)
	return w.ResponseWriter.Write(data)
}

func (w *answer) begin(code int) {
	if w.begun {
		return
	}
	w.begun = true
	if code >= 200 && code < 300 {
		w.checker.stored(w.ctx, w.request)
	}
}

// release sends a held status code, with the warnings about the conflicts in a body.
func (w *answer) release(body []byte) {
	if w.held == 0 {
		return
	}
	var status metav1.Status
	// A body in another format has no warnings.
	if json.Unmarshal(body, &status) == nil && status.Details != nil {
		for _, line := range ownership.ConflictWarnings(w.object(), status.Details.Causes) {
			warning.AddWarning(w.ctx, "", line)
		}
	}
	w.ResponseWriter.WriteHeader(w.held)
	w.held = 0
}

// object returns the object of the request, as kubectl takes it.
func (w *answer) object() string {
	info, ok := genericapirequest.RequestInfoFrom(w.ctx)
	if !ok {
		return w.request.path
	}
	object := schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}.String() + "/" + info.Name
	if info.Namespace != "" {
		object += " -n " + info.Namespace
	}
	return object
}

// stored adds the warnings about a write that was stored, or would have been stored
// without dryRun, and remembers its command.
func (c *Checker) stored(ctx context.Context, r *request) {
	judged := r.lastJudgement()
	if judged.verdict == nil {
		return
	}
	if judged.verdict.NeedsCommands() {
		ctx, cancel := context.WithTimeout(ctx, explainTimeout)
		defer cancel()
		// Without the commands, the warnings name the manager of the field.
		if commands, err := c.memory.Read(ctx, judged.uid); err == nil {
			judged.verdict.Explain(commands)
		}
	}
	if judged.verdict.Note != "" && judged.configuration != "" && !c.notes.First(judged.uid, judged.configuration) {
		judged.verdict.Note = ""
	}
	if judged.verdict.ShowsValues() && !disclosure.Allowed(ctx) {
		judged.verdict.Hide()
	}
	for _, line := range judged.verdict.Warnings() {
		warning.AddWarning(ctx, "", line)
	}
	if r.dryRun {
		return
	}
	c.findings.count(judged.verdict)
	if len(judged.changed) > 0 {
		c.memory.Remember(Object{UID: judged.uid, Path: r.path}, ownership.Command{
			Command: r.writer.Command, Manager: r.writer.Manager,
			Time: time.Now().UTC().Truncate(time.Second), Fields: judged.changed,
		})
	}
}
