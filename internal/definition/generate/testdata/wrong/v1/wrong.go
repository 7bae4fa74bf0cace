// Package v1 has wrong uses of markers. A comment "want" has the message for its line.
// +groupName=wrong.example.com
package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Wrong is a kind.
// +immutable
type Wrong struct { // want `+immutable on type Wrong: may not stand at the root of the schema (wrongs.wrong.example.com)`
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec WrongSpec `json:"spec"`
}

// Embedded has a marker on the type.
// +immutable
type Embedded struct { // want `+immutable on type Embedded: the type is embedded in another, so it has no node of its own: mark its fields`
	Inner string `json:"inner,omitempty"`
}

// Other is embedded with a marker on the field.
type Other struct {
	Outer string `json:"outer,omitempty"`
}

// Names is a type with a marker.
// +listType=set
// +deletionOnly
type Names []string // want `+deletionOnly on type Names: excludes +additionOnly on field Typed of WrongSpec (testdata/wrong/v1/wrong.go:54:2)`

// WrongSpec has one wrong use for each field.
type WrongSpec struct {
	Embedded `json:",inline"`

	// +immutable
	Other `json:",inline"` // want `+immutable on embedded field of WrongSpec: the field has no node of its own in the schema: mark the fields of its type`

	// +immutable=keys
	Scalar string `json:"scalar"` // want `+immutable=keys on field Scalar of WrongSpec: needs keys: this is a scalar (spec.scalar of wrongs.wrong.example.com)`

	// +additionOnly
	Atomic []string `json:"atomic"` // want `+additionOnly on field Atomic of WrongSpec: needs keys: this list is of type atomic, only lists of type map or set have keys (spec.atomic of wrongs.wrong.example.com)`

	// +listType=set
	// +immutable=keys
	Set []string `json:"set"` // want `+immutable=keys on field Set of WrongSpec: the items of a list of type set are its keys: use x-kubernetes-immutable (spec.set of wrongs.wrong.example.com)`

	// +immutable
	// +deletionOnly
	Two map[string]string `json:"two"` // want `+immutable on field Two of WrongSpec: excludes +deletionOnly on field Two of WrongSpec (testdata/wrong/v1/wrong.go:51:2)`

	// +additionOnly
	Typed Names `json:"typed"`

	// +normalize=undefined
	Required []string `json:"required"` // want `+normalize=undefined on field Required of WrongSpec: must not be used on a required property (spec.required of wrongs.wrong.example.com)`

	// +normalize=undefined
	Text string `json:"text,omitempty"` // want `+normalize=undefined on field Text of WrongSpec: must be used on a property of type array or object (spec.text of wrongs.wrong.example.com)`

	// +immutableKeys
	Misspelled map[string]string `json:"misspelled"`

	// +addition-only
	Hyphen map[string]string `json:"hyphen"`

	// +immutable: true
	Colon string `json:"colon"`

	// +imutable
	Letter string `json:"letter"`

	// +k8s:Update=NoSet
	Case string `json:"case"`

	// + setOnce
	Blank string `json:"blank"`

	Trailing string `json:"trailing"` // +immutable

	// +optional
	TrailingUpdate string `json:"trailingUpdate,omitempty"` // +k8s:update=NoSet

	/* +setOnce */
	Block string `json:"block"`

	// +setOnce
	// +k8s:update=NoSet
	Both string `json:"both,omitempty"` // want `+k8s:update=NoSet on field Both of WrongSpec: excludes +setOnce on field Both of WrongSpec (testdata/wrong/v1/wrong.go:90:2)`

	// +listType=set
	// +k8s:update=NoAddItem,NoRemoveItem
	Items []string `json:"items"` // want `+k8s:update=NoAddItem,NoRemoveItem on field Items of WrongSpec: the items of a list of type set are its keys: use x-kubernetes-immutable (spec.items of wrongs.wrong.example.com)`

	// +immutable
	Hidden string `json:"-"` // want `+immutable on field Hidden of WrongSpec: the field has no node of its own in the schema: mark the fields of its type`
}
