package guard

import (
	"net/http"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/ownership"
)

// update judges an update or a patch, of an object or its scale.
func (w *write) update() (*http.Response, error) {
	body, err := w.takeBody()
	if err != nil {
		return nil, err
	}
	live, writer := w.live(), w.writer()
	if live == nil || !isOwned(live) && writer.Act != ownership.Apply && writer.Act != ownership.ServerSideApply {
		return w.sendBody(body)
	}
	updated := w.updated(live, body)
	if updated == nil {
		// What the server would refuse it is to refuse in its own words.
		return w.sendBody(body)
	}
	judged := newJudged(w.typeOf(live), live, updated, writer)
	verdict := ownership.Judge(judged, w.cache)
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
