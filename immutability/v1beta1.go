package immutability

import (
	"iter"
	"strings"

	"holdfast.dev/holdfast/schema"
	"holdfast.dev/holdfast/value"
)

// ValidateV1beta1 returns an error for every marker that a write through
// apiextensions.k8s.io/v1beta1 may not add, sorted by path. oldSchema is the
// schema of the same version in the stored definition, nil on create. A marker
// that it already has at the same path may stay. [Weakened] finds markers that
// the write removes.
func ValidateV1beta1(oldSchema, newSchema *schema.Schema) schema.Errors {
	known := map[string]bool{}
	schema.Walk(oldSchema, func(at *schema.Visit) bool {
		for path, written := range keywordsOf(at) {
			known[path.String()+written] = true
		}
		return true
	})
	var errors schema.Errors
	schema.Walk(newSchema, func(at *schema.Visit) bool {
		for path, written := range keywordsOf(at) {
			if known[path.String()+written] {
				continue
			}
			errors = append(errors, &schema.Error{
				Path:   path,
				Detail: "may not be added through apiextensions.k8s.io/v1beta1: use apiextensions.k8s.io/v1",
			})
		}
		return true
	})
	errors.Sort()
	return errors
}

// keywordsOf yields the paths of the markers of a node, and the constraints where the keyword does not say them.
func keywordsOf(at *schema.Visit) iter.Seq2[*value.Path, string] {
	return func(yield func(*value.Path, string) bool) {
		for _, m := range flagged {
			if m.flag(at.Schema) != nil && !yield(at.Path.Child(m.Keyword()), "") {
				return
			}
		}
		if at.Schema.Update != nil {
			yield(at.Path.Child(schema.UpdateKeyword), strings.Join(at.Schema.Update, ","))
		}
	}
}
