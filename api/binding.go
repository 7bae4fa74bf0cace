package api

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Binding records the content of the OperatorVersion that admission used when it
// accepted a run of a plan. The controller runs the plan with the rights of the
// requester, and only if the OperatorVersion still has this content. Without that
// check, another user could delete the OperatorVersion, create one with the same
// name and other templates, and have those applied with the requester's rights.
type Binding struct {
	// OperatorVersion is the name of the OperatorVersion.
	OperatorVersion string `json:"operatorVersion"`
	// Digest is the digest of its spec. It does not depend on the UID, so an
	// OperatorVersion that is deleted and created again unchanged still matches.
	Digest string `json:"digest"`
}

// BoundTo returns the Binding that admission stored on an Instance; false if there
// is none.
func BoundTo(instance metav1.Object) (Binding, bool, error) {
	var binding Binding
	found, err := read(instance, BindingAnnotation, &binding)
	return binding, found, err
}

// Bind stores the Binding to the current content of an OperatorVersion on an
// Instance.
func Bind(instance metav1.Object, version *OperatorVersion) error {
	binding, err := version.Binding()
	if err != nil {
		return err
	}
	return write(instance, BindingAnnotation, binding)
}

// Binding returns the Binding to the current content of the OperatorVersion.
func (v *OperatorVersion) Binding() (Binding, error) {
	// The encoding is deterministic: json.Marshal sorts the keys of maps, and the
	// fields of the spec are omitted when empty.
	text, err := json.Marshal(v.Spec)
	if err != nil {
		return Binding{}, fmt.Errorf("operator version %s: %w", v.Name, err)
	}
	sum := sha256.Sum256(text)
	return Binding{OperatorVersion: v.Name, Digest: "sha256:" + hex.EncodeToString(sum[:])}, nil
}
