package node

import (
	"fmt"
	"os"
	"os/user"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/internal/projection"
)

// groupFor returns the group that may read the files of a pod: its fsGroup, its runAsGroup,
// the group on this host of the user that its containers run as, or the default of the
// agent.
func (a *Agent) groupFor(pod *corev1.Pod) *int {
	if context := pod.Spec.SecurityContext; context != nil {
		for _, id := range []*int64{context.FSGroup, context.RunAsGroup} {
			if id != nil {
				group := int(*id)
				return &group
			}
		}
	}
	if id, ok := projection.FileUser(pod); ok {
		if account, err := user.LookupId(strconv.FormatInt(id, 10)); err == nil {
			if group, err := strconv.Atoi(account.Gid); err == nil {
				return &group
			}
		}
	}
	return a.filesGroup
}

// ownerOf returns the owner of the volumes of a pod.
func (a *Agent) ownerOf(pod *corev1.Pod) VolumeOwner {
	return VolumeOwner{Name: cache.MetaObjectToName(pod), UID: pod.UID, Group: a.groupFor(pod)}
}

// defaultGroup returns the group of files for which the pod sets none: --files-group, or the
// group of --hooks-user, or that of the agent.
func defaultGroup(name string, hooks *hooks) (*int, error) {
	if name == "" {
		if group := hooks.group(); group != nil {
			return group, nil
		}
		own := os.Getegid()
		return &own, nil
	}
	group, err := user.LookupGroup(name)
	if err == nil {
		name = group.Gid
	}
	id, err := strconv.ParseUint(name, 10, 31)
	if err != nil {
		return nil, fmt.Errorf("--files-group %s: no such group", name)
	}
	number := int(id)
	return &number, nil
}
