package node

import (
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/authentication/user"
)

// UserPrefix followed by the name of a node is the node's user name.
const UserPrefix = "system:node:"

// NameOf returns the name of the node that the user is. isNode reports whether the
// user is in the group system:nodes. If such a user does not have the name of a
// node, NameOf returns "" and true, and the user has no permissions of a node.
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
