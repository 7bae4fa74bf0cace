package ownershipcheck

import (
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/ownership"
)

// follow is the body of a replace with the last-applied configuration that it
// leaves behind: what it replaces the object with, or the old one if nothing else
// changes. What there is to say about that is added to the verdict.
func follow(judged ownership.Write, body []byte, verdict *ownership.Verdict) []byte {
	obj, err := decode(body)
	if err != nil || judged.Type == nil || !isObject(obj) {
		return body
	}
	text, same := lastApplied(judged.Live), ownership.SameBesides(judged.Type, judged.Live, judged.New)
	if !same {
		replacement, err := ownership.Replacement(obj)
		if err != nil {
			return body
		}
		text = replacement
	}
	obj = ownership.WithLastApplied(obj, text)
	if annotations := (&unstructured.Unstructured{Object: obj}).GetAnnotations(); apivalidation.ValidateAnnotationsSize(annotations) != nil {
		// Too much to be applied; the replacement itself is not.
		verdict.Note = ownership.NoteTooLarge
		return body
	}
	out, err := encode(obj)
	if err != nil {
		return body
	}
	verdict.Replaced = !same
	return out
}

// isObject says whether the metadata of a body are where they belong; a server
// knows what to say about others.
func isObject(obj map[string]any) bool {
	meta, ok := obj["metadata"].(map[string]any)
	if !ok {
		return false
	}
	annotations, there := meta["annotations"]
	_, ok = annotations.(map[string]any)
	return ok || !there || annotations == nil
}
