package node

import (
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/authentication/user"
)

// UserPrefix is before the node's name in the name of its user.
const UserPrefix = "system:node:"

// NameOf is the name of the node whose credential the user has. A user who is
// in the group of nodes but has no name of a node is none of them and
// gets "", true.
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
