package documents

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/definition"
)

// hasher makes hashes of documents that a program with this revision makes.
type hasher string

// identify returns a hash of all that the document of a group version is made of. To make it from the
// document would build the documents of all definitions when a client asks for the list of them.
func (h hasher) identify(gv schema.GroupVersion, crds []*definition.CustomResourceDefinition) string {
	hash := sha256.New()
	encoder := json.NewEncoder(hash)
	_ = encoder.Encode([]string{string(h), gv.String()}) // a hash accepts every write
	for _, crd := range crds {
		v, text := *crd.Spec.Version(gv.Version), []byte(nil)
		if v.Schema != nil {
			// The encoder would read the whole text of the schema to remove spaces, and a stored schema has none.
			text, v.Schema = v.Schema.OpenAPIV3Schema, nil
		}
		_ = encoder.Encode([]any{
			crd.Spec.Group, crd.Spec.Scope, crd.Spec.Names, crd.Status.AcceptedNames, crd.Annotations[immutability.Annotation],
			crd.Spec.Pruned(gv.Version), v, len(text),
		})
		hash.Write(text)
	}
	return fmt.Sprintf("%X", hash.Sum(nil))
}
