package ownershipcheck

import (
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/internal/native/judgement"
	"holdfast.dev/holdfast/internal/othercluster/guard"
	"holdfast.dev/holdfast/ownership"
)

// update checks and sends an update or a patch, of an object or its scale.
func (w *write) update() (*http.Response, error) {
	body, err := w.readBody()
	if err != nil {
		return nil, err
	}
	writer := w.writer()
	live, err := w.live()
	switch {
	case apierrors.IsNotFound(err):
		// The write may create the object, and a new object has no owned fields.
		return w.sendBody(body)
	case err != nil:
		return w.sendUnchecked(body, w.named(), fmt.Errorf("the object cannot be read: %w", err))
	case !needsCheck(live, writer):
		return w.sendBody(body)
	}
	updated, err := w.updated(live, body)
	if writer.Act == ownership.Edit && writer.Force && isRefusedByGuard(err) {
		w.forceAsManager()
		updated, err = w.updated(live, body)
	}
	if err != nil {
		return w.sendUnchecked(body, ownership.Resource(live), err)
	}
	judged := newWrite(w.typeOf(live), live, updated, writer)
	verdict := judgement.Judge(judged, w.cache)
	if writer.Act == ownership.Edit && !writer.Force {
		if refusals := verdict.Refusals(); len(refusals) > 0 {
			return w.refuse(live, refusals)
		}
	}
	if writer.Act == ownership.Replace && w.info.Verb == "update" && w.info.Subresource == "" && lastApplied(live) != "" {
		body = withLastApplied(judged, body, &verdict)
	}
	resp, err := w.sendBody(body)
	return withWarnings(resp, verdict), err
}

// isRefusedByGuard reports whether an error is the refusal of an edit by the guard of a cluster.
func isRefusedByGuard(err error) bool {
	return apierrors.IsInvalid(err) && strings.Contains(err.Error(), guard.OwnershipWebhook)
}

// forceAsManager forces an edit by its field manager, which is all that a guard sees of the command.
func (w *write) forceAsManager() {
	w.req = w.req.Clone(w.req.Context())
	query := w.req.URL.Query()
	query.Set("fieldManager", ownership.ForceManager)
	w.req.URL.RawQuery = query.Encode()
}

// needsCheck reports whether a write of an object can have findings.
func needsCheck(live map[string]any, writer ownership.Writer) bool {
	if text, _, _ := unstructured.NestedString(live, "metadata", "annotations", ownership.Ignore); text == ownership.Ignored {
		return false
	}
	return isOwned(live) || writer.Act == ownership.Apply || writer.Act == ownership.ServerSideApply
}

// isOwned reports whether client-side or server-side apply owns any field of an object.
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

// newWrite returns a write for package ownership.
func newWrite(t *ownership.Type, live, updated map[string]any, writer ownership.Writer) ownership.Write {
	return ownership.Write{
		Type: t, Live: live, New: updated, Writer: writer,
		LiveManagers: (&unstructured.Unstructured{Object: live}).GetManagedFields(),
		NewManagers:  (&unstructured.Unstructured{Object: updated}).GetManagedFields(),
	}
}
