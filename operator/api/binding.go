package api

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Binding is the content of an OperatorVersion that a run was judged with. The
// run has the rights of its requester for this content and for no other that
// somebody puts under the same name.
type Binding struct {
	OperatorVersion string `json:"operatorVersion"`
	// Digest is that of the spec: an object that is deleted and created again as
	// it was is the same.
	Digest string `json:"digest"`
}

// BoundTo is the binding that admission wrote down; false if there is none.
func BoundTo(instance metav1.Object) (Binding, bool, error) {
	var binding Binding
	found, err := read(instance, BindingAnnotation, &binding)
	return binding, found, err
}

// Bind writes down an OperatorVersion as it is.
func Bind(instance metav1.Object, version *OperatorVersion) error {
	binding, err := version.Binding()
	if err != nil {
		return err
	}
	return write(instance, BindingAnnotation, binding)
}

// Binding is what binds to the OperatorVersion as it is.
func (v *OperatorVersion) Binding() (Binding, error) {
	// Keys of objects are in order, and what is empty is left out.
	text, err := json.Marshal(v.Spec)
	if err != nil {
		return Binding{}, fmt.Errorf("operator version %s: %w", v.Name, err)
	}
	sum := sha256.Sum256(text)
	return Binding{OperatorVersion: v.Name, Digest: "sha256:" + hex.EncodeToString(sum[:])}, nil
}
