package ownershipcheck

import (
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	server "holdfast.dev/holdfast/internal/apiserver/fieldownership"
	"holdfast.dev/holdfast/internal/native/judgement"
	"holdfast.dev/holdfast/ownership"
)

// deleted is an object that the command has deleted.
type deleted struct {
	object map[string]any
	// commands are the commands that set its fields, if the server has recorded them. The
	// server deletes its record together with the object.
	commands ownership.Commands
}

// remove sends a delete request. If the command is apply --force or replace --force, it
// stores a copy of the object in w.deleted, because these commands create the object again.
func (w *write) remove() (*http.Response, error) {
	switch w.writer().Act {
	case ownership.Apply, ownership.Replace:
	default:
		return w.send(w.req)
	}
	path := w.object().Path
	live, readErr := w.live()
	commands := w.commands()
	resp, err := w.send(w.req)
	if err == nil && readErr == nil && resp.StatusCode < 300 {
		w.mu.Lock()
		w.deleted[path] = deleted{live, commands}
		w.mu.Unlock()
	}
	return resp, err
}

// commands returns the commands that the server has recorded for the object.
func (w *write) commands() ownership.Commands {
	object := w.object()
	object.RawQuery = server.CommandsQuery
	data, err := w.get(object.String())
	if err != nil {
		return ownership.Commands{}
	}
	return server.DecodeCommands(data)
}

// create checks the creation of an object that the same command has deleted, as if it were
// an update of that object.
func (w *write) create() (*http.Response, error) {
	w.mu.Lock()
	kept := len(w.deleted)
	w.mu.Unlock()
	if kept == 0 {
		return w.send(w.req)
	}
	body, err := w.readBody()
	if err != nil {
		return nil, err
	}
	sent, err := decode(body)
	if err != nil {
		// The server reports what is wrong with the body.
		return w.sendBody(body)
	}
	name := (&unstructured.Unstructured{Object: sent}).GetName()
	gone := w.takeDeleted(strings.TrimSuffix(w.req.URL.Path, "/") + "/" + name)
	live, writer := gone.object, w.writer()
	if live == nil || !needsCheck(live, writer) {
		return w.sendBody(body)
	}
	updated, err := w.dryRun(body)
	if err != nil {
		return w.sendUnchecked(body, ownership.Resource(live), err)
	}
	judged := newWrite(w.typeOf(live), live, updated, writer)
	verdict := judgement.Judge(judged, w.cache)
	verdict.Explain(gone.commands)
	if writer.Act == ownership.Replace && lastApplied(live) != "" {
		body = withLastApplied(judged, body, &verdict)
	}
	resp, err := w.sendBody(body)
	return withWarnings(resp, verdict), err
}

// takeDeleted returns a deleted object and forgets it. The object is nil if there is none.
func (w *write) takeDeleted(path string) deleted {
	w.mu.Lock()
	defer w.mu.Unlock()
	gone := w.deleted[path]
	delete(w.deleted, path)
	return gone
}
