package token

import (
	"github.com/golang-jwt/jwt/v5"
	"k8s.io/apimachinery/pkg/types"
)

// Ref names an object for as long as it exists.
type Ref struct {
	Name string    `json:"name,omitempty"`
	UID  types.UID `json:"uid,omitempty"`
}

// Holder is whom a token speaks for, and what it is bound to. Of Pod and
// Secret, one at most is set; Node is the pod's, or what the token is bound to.
type Holder struct {
	Namespace      string `json:"namespace"`
	ServiceAccount Ref    `json:"serviceaccount"`
	Pod            *Ref   `json:"pod,omitempty"`
	Secret         *Ref   `json:"secret,omitempty"`
	Node           *Ref   `json:"node,omitempty"`
}

// claims is what a token says.
type claims struct {
	jwt.RegisteredClaims
	Holder Holder `json:"kubernetes.io"`
}
