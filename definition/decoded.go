package definition

import (
	"slices"
	"sync/atomic"

	"holdfast.dev/holdfast/immutability"
)

// Decoded holds the decoded schemas of the definition that Validate saw last, until Warnings takes them. The server calls Warnings
// after Validate, and to decode the schemas of a definition takes longer than to look for warnings. It is safe for concurrent use, and
// its zero value is empty.
type Decoded struct{ last atomic.Pointer[decoded] }

// decoded are the decoded schemas of a definition. The other fields are those of the definition when it was decoded.
type decoded struct {
	crd        *CustomResourceDefinition
	annotation string
	texts      []*CustomResourceValidation
	versions   []readVersion
}

// put replaces the schemas that are held. It does nothing if d is nil.
func (d *Decoded) put(crd *CustomResourceDefinition, versions []readVersion) {
	if d == nil {
		return
	}
	d.last.Store(&decoded{crd: crd, annotation: crd.Annotations[immutability.Annotation], texts: schemaTexts(crd), versions: versions})
}

// take returns the decoded schemas of a definition, and does not hold them any longer. It decodes them if they are not held, or if
// the definition has changed.
func (d *Decoded) take(crd *CustomResourceDefinition) []readVersion {
	if d == nil {
		return decodeVersions(crd)
	}
	last := d.last.Swap(nil)
	if last == nil || last.crd != crd || last.annotation != crd.Annotations[immutability.Annotation] ||
		!slices.EqualFunc(last.texts, schemaTexts(crd), sameSchema) {
		return decodeVersions(crd)
	}
	return last.versions
}

// schemaTexts returns copies of the schemas of all versions. A copy shares the text.
func schemaTexts(crd *CustomResourceDefinition) []*CustomResourceValidation {
	out := make([]*CustomResourceValidation, len(crd.Spec.Versions))
	for i := range crd.Spec.Versions {
		out[i] = crd.Spec.Versions[i].Schema.DeepCopy()
	}
	return out
}
