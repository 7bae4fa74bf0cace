package node

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/projection"
)

// Template is the part of a pod that says how its volumes are made from objects. It is saved,
// so that the agent can restore the volumes of immutable objects while the server is away.
type Template struct {
	// Volumes are the volumes of the pod that are made from ConfigMaps and Secrets only.
	Volumes []corev1.Volume `json:"volumes,omitempty"`
	// FSGroup is the fsGroup of the pod, and Group the group of its files.
	FSGroup *int64 `json:"fsGroup,omitempty"`
	Group   *int   `json:"group,omitempty"`
}

// templateOf returns the template of a pod, or nil if no volume can be restored.
func templateOf(pod *corev1.Pod, group *int) *Template {
	t := &Template{Group: group}
	if pod.Spec.SecurityContext != nil {
		t.FSGroup = pod.Spec.SecurityContext.FSGroup
	}
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		if len(projection.References(volume)) > 0 && len(projection.Tokens(volume)) == 0 && !projection.UsesTrustBundles(volume) {
			t.Volumes = append(t.Volumes, *volume)
		}
	}
	if len(t.Volumes) == 0 {
		return nil
	}
	return t
}

// pod returns a pod with the volumes of the template.
func (t *Template) pod(record *Record) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: record.Namespace, Name: record.Name, UID: record.UID},
		Spec:       corev1.PodSpec{Volumes: t.Volumes, SecurityContext: &corev1.PodSecurityContext{FSGroup: t.FSGroup}},
	}
}

// restore writes a damaged volume again from saved immutable objects, without the server. It
// returns an error, and changes nothing, if the volume has other content as well.
func (a *Agent) restore(record *Record, name string) error {
	if record.Template == nil {
		return errors.New("no saved content")
	}
	pod := record.Template.pod(record)
	for i := range pod.Spec.Volumes {
		if volume := &pod.Spec.Volumes[i]; volume.Name == name {
			return a.restoreVolume(record, pod, volume)
		}
	}
	return errors.New("the volume is not made from objects only")
}

func (a *Agent) restoreVolume(record *Record, pod *corev1.Pod, volume *corev1.Volume) error {
	sources := projection.Sources{Objects: map[projection.Reference]map[string][]byte{}, Group: record.Template.Group}
	for _, reference := range projection.References(volume) {
		source := record.source(Ref{reference.Kind, pod.Namespace, reference.Name})
		switch {
		case source == nil:
			continue // optional, and it did not exist
		case !source.Immutable:
			return fmt.Errorf("%s is not immutable", source.Ref)
		}
		object, err := a.State.Object(source.UID)
		if err != nil {
			return err
		}
		if a.digest.object(object) != source.Digest {
			return fmt.Errorf("the saved content of %s is damaged", source.Ref)
		}
		sources.Objects[reference] = object.Data
	}
	payload, err := projection.Collect(pod, volume, sources)
	if err != nil {
		return err
	}
	want := record.Volumes[volume.Name]
	if a.digest.sum(payload, want.Secret) != want.Digest {
		return errors.New("the saved content is not that of the volume")
	}
	owner := VolumeOwner{Name: record.podName(), UID: record.UID, Group: record.Template.Group}
	_, err = a.Volumes.Write(owner, volume.Name, payload)
	return err
}
