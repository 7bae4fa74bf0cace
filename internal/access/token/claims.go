package token

import (
	"github.com/golang-jwt/jwt/v5"
	"k8s.io/apimachinery/pkg/types"
)

// Ref identifies an object by name and UID. An object that is deleted and created
// again has another UID.
type Ref struct {
	Name string    `json:"name,omitempty"`
	UID  types.UID `json:"uid,omitempty"`
}

// Holder is the service account of a token, and the object that the token is bound
// to, if any: a Pod, a Secret or a Node. If Pod is set, Node is the node of the pod.
type Holder struct {
	Namespace      string `json:"namespace"`
	ServiceAccount Ref    `json:"serviceaccount"`
	Pod            *Ref   `json:"pod,omitempty"`
	Secret         *Ref   `json:"secret,omitempty"`
	Node           *Ref   `json:"node,omitempty"`
}

// claims is the payload of a token.
type claims struct {
	jwt.RegisteredClaims
	Holder Holder `json:"kubernetes.io"`
}
