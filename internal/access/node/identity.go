package node

import (
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/authentication/user"
)

// UserPrefix followed by the name of a node is the node's user name.
const UserPrefix = "system:node:"

// NameOf returns the node name from the user name of a node. isNode reports whether the
// user is in the group system:nodes. If the name of such a user does not begin with
// UserPrefix, NameOf returns "" and true, and the user has no permissions of a node.
func NameOf(u user.Info) (name string, isNode bool) {
	if u == nil || !slices.Contains(u.GetGroups(), user.NodesGroup) {
		return "", false
	}
	name, ok := strings.CutPrefix(u.GetName(), UserPrefix)
	if !ok {
		return "", true
	}
	return name, true
}
