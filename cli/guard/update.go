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
		body, verdict.Replaced = replacement(judged, body)
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

// replacement is the body of a replace whose last-applied configuration is what it
// replaces the object with; the old one stays if nothing else changes.
func replacement(judged ownership.Write, body []byte) (changed []byte, replaced bool) {
	obj := decode(body)
	if obj == nil || judged.Type == nil {
		return body, false
	}
	text, same := lastApplied(judged.Live), true
	if !ownership.SameBesides(judged.Type, judged.Live, judged.New) {
		given, err := ownership.Replacement(obj)
		if err != nil {
			return body, false
		}
		text, same = given, false
	}
	if unstructured.SetNestedField(obj, text, "metadata", "annotations", ownership.LastApplied) != nil {
		return body, false
	}
	out, err := encode(obj)
	if err != nil {
		return body, false
	}
	return out, !same
}
