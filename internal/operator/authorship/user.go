package authorship

import "k8s.io/apimachinery/pkg/types"

// User is a user as the API server authenticated it. A User without a name is an author
// that is not known.
type User struct {
	Username string              `json:"username,omitempty"`
	UID      string              `json:"uid,omitempty"`
	Groups   []string            `json:"groups,omitempty"`
	Extra    map[string][]string `json:"extra,omitempty"`
}

// ControllerUser is the user name of the operator controller in our own server.
const ControllerUser = "system:holdfast:operator-controller"

// IsSystem reports whether the user is the API server or the operator controller, which has
// the given user name. Both act for other users and are never requesters or authors themselves.
func (u User) IsSystem(controller string) bool {
	return u.Known() && (u.Username == "system:apiserver" || u.Username == controller)
}

// Known reports whether the user is known.
func (u User) Known() bool { return u.Username != "" }

// Authors holds the users that set the value of a parameter, by parameter name. A
// parameter whose value comes from the OperatorVersion has no entry.
type Authors map[string][]User

// Record names the users that the current run of an Instance acts for.
type Record struct {
	// Requester made the write that started the run.
	Requester User
	// Authors are the authors of the values in spec.parameters.
	Authors Authors
	// Deletion means that the run was started because the Instance was deleted. The run
	// has the rights of the user that deleted it (package operator/deletion), and those
	// of Requester only if a controller of the cluster deleted it.
	Deletion bool
	// Instance is the UID of the Instance, "" until the controller has seen it.
	Instance types.UID
}
