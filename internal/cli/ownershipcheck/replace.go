package ownershipcheck

import (
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/ownership"
)

// withLastApplied returns the body of a replace with a last-applied configuration, as a
// Holdfast server would store it. The configuration is the replacement itself. If the
// replace changes no field, it is the old configuration. withLastApplied also sets the
// corresponding warning in the verdict.
func withLastApplied(judged ownership.Write, body []byte, verdict *ownership.Verdict) []byte {
	obj, err := decode(body)
	if err != nil || judged.Type == nil || !isObject(obj) {
		return body
	}
	text, same := lastApplied(judged.Live), ownership.EqualJudged(judged.Type, judged.Live, judged.New)
	if !same {
		replacement, err := ownership.Replacement(obj)
		if err != nil {
			return body
		}
		text = replacement
	}
	obj = ownership.WithLastApplied(obj, text)
	annotations := (&unstructured.Unstructured{Object: obj}).GetAnnotations()
	if apivalidation.ValidateAnnotationsSize(annotations) != nil {
		// The annotation would be too large. The replacement is sent without it.
		verdict.Note = ownership.NoteTooLarge
		return body
	}
	out, err := encode(obj)
	if err != nil {
		return body
	}
	verdict.Replaced, verdict.Lost = !same, false
	return out
}

// isObject reports whether a body has metadata of the right type. The server reports what
// is wrong with any other body.
func isObject(obj map[string]any) bool {
	meta, ok := obj["metadata"].(map[string]any)
	if !ok {
		return false
	}
	annotations, present := meta["annotations"]
	_, ok = annotations.(map[string]any)
	return ok || !present || annotations == nil
}
