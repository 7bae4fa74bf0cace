package ownershipcheck

import (
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	server "holdfast.dev/holdfast/apiserver/fieldownership"
	"holdfast.dev/holdfast/ownership"
)

// remove keeps what apply --force and replace --force delete, until they put it
// back.
func (w *write) remove() (*http.Response, error) {
	switch w.writer().Act {
	case ownership.Apply, ownership.Replace:
	default:
		return w.send(w.req)
	}
	path := w.object().Path
	live, unread := w.live()
	resp, err := w.send(w.req)
	if err == nil && unread == nil && resp.StatusCode < 300 {
		w.mu.Lock()
		w.deleted[path] = live
		w.mu.Unlock()
	}
	return resp, err
}

// create judges the creation of an object that the same command deleted as the
// update that it is.
func (w *write) create() (*http.Response, error) {
	w.mu.Lock()
	waiting := len(w.deleted)
	w.mu.Unlock()
	if waiting == 0 {
		return w.send(w.req)
	}
	body, err := w.takeBody()
	if err != nil {
		return nil, err
	}
	sent, err := decode(body)
	if err != nil {
		// The server knows what to say about it.
		return w.sendBody(body)
	}
	live := w.takeDeleted(strings.TrimSuffix(w.req.URL.Path, "/") + "/" + (&unstructured.Unstructured{Object: sent}).GetName())
	writer := w.writer()
	if live == nil || !isJudged(live, writer) {
		return w.sendBody(body)
	}
	updated, err := w.try(body)
	if err != nil {
		return w.sendUnjudged(body, err)
	}
	judged := newJudged(w.typeOf(live), live, updated, writer)
	verdict := server.Judge(judged, w.cache)
	if writer.Act == ownership.Replace && lastApplied(live) != "" {
		body = follow(judged, body, &verdict)
	}
	resp, err := w.sendBody(body)
	return warned(resp, verdict), err
}

func (w *write) takeDeleted(path string) map[string]any {
	w.mu.Lock()
	defer w.mu.Unlock()
	live := w.deleted[path]
	delete(w.deleted, path)
	return live
}
