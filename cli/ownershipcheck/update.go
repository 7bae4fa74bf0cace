package ownershipcheck

import (
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	server "holdfast.dev/holdfast/apiserver/fieldownership"
	"holdfast.dev/holdfast/ownership"
)

// update judges an update or a patch, of an object or its scale.
func (w *write) update() (*http.Response, error) {
	body, err := w.takeBody()
	if err != nil {
		return nil, err
	}
	writer := w.writer()
	live, err := w.live()
	switch {
	case apierrors.IsNotFound(err):
		// Nothing is owned yet of what the write may create.
		return w.sendBody(body)
	case err != nil:
		return w.sendUnjudged(body, fmt.Errorf("the object cannot be read: %w", err))
	case !isJudged(live, writer):
		return w.sendBody(body)
	}
	updated, err := w.updated(live, body)
	if err != nil {
		return w.sendUnjudged(body, err)
	}
	judged := newJudged(w.typeOf(live), live, updated, writer)
	verdict := server.Judge(judged, w.cache)
	if writer.Act == ownership.Edit && !writer.Force {
		if refusals := verdict.Refusals(); len(refusals) > 0 {
			return w.refuse(live, refusals)
		}
	}
	if writer.Act == ownership.Replace && w.info.Verb == "update" && w.info.Subresource == "" && lastApplied(live) != "" {
		body = follow(judged, body, &verdict)
	}
	resp, err := w.sendBody(body)
	return warned(resp, verdict), err
}

// isJudged says whether there may be something to say about a write to an object.
func isJudged(live map[string]any, writer ownership.Writer) bool {
	if text, _, _ := unstructured.NestedString(live, "metadata", "annotations", ownership.Ignore); text == ownership.Ignored {
		return false
	}
	return isOwned(live) || writer.Act == ownership.Apply || writer.Act == ownership.ServerSideApply
}

// isOwned says whether anything of an object is owned by an apply.
func isOwned(obj map[string]any) bool {
	if lastApplied(obj) != "" {
		return true
	}
	for _, entry := range (&unstructured.Unstructured{Object: obj}).GetManagedFields() {
		if entry.Operation == "Apply" {
			return true
		}
	}
	return false
}

// newJudged is a write as package ownership takes it.
func newJudged(t *ownership.Type, live, updated map[string]any, writer ownership.Writer) ownership.Write {
	return ownership.Write{
		Type: t, Live: live, New: updated, Writer: writer,
		LiveManagers: (&unstructured.Unstructured{Object: live}).GetManagedFields(),
		NewManagers:  (&unstructured.Unstructured{Object: updated}).GetManagedFields(),
	}
}
