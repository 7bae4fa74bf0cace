package projection

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Kind is what a volume takes content from by name.
type Kind string

// The kinds of objects that volumes name, as messages call them.
const (
	ConfigMap Kind = "configmap"
	Secret    Kind = "secret"
)

// Reference is an object that a volume names, in the namespace of its pod.
type Reference struct {
	Kind Kind
	Name string
}

// Sources is what Collect takes content from.
type Sources struct {
	// Objects has the content of every object that exists, by key.
	Objects map[Reference]map[string][]byte
	// Tokens has the tokens by the path they are for.
	Tokens map[string]string
	// Allocatable is what a limit is that a container does not set.
	Allocatable corev1.ResourceList
}

// Missing is the error of a volume whose sources lack something. It says
// everything that they lack.
type Missing struct {
	Problems []string
}

// Error implements error.
func (m *Missing) Error() string { return strings.Join(m.Problems, "; ") }

// Supported reports whether a volume is one of this package.
func Supported(volume *corev1.Volume) bool {
	return volume.ConfigMap != nil || volume.Secret != nil || volume.DownwardAPI != nil || volume.Projected != nil
}

// References are the objects that a volume names, each once.
func References(volume *corev1.Volume) []Reference {
	var refs []Reference
	for _, source := range sourcesOf(volume) {
		var ref Reference
		switch {
		case source.ConfigMap != nil:
			ref = Reference{ConfigMap, source.ConfigMap.Name}
		case source.Secret != nil:
			ref = Reference{Secret, source.Secret.Name}
		default:
			continue
		}
		if !slices.Contains(refs, ref) {
			refs = append(refs, ref)
		}
	}
	return refs
}

// Tokens are the service account tokens that a volume has.
func Tokens(volume *corev1.Volume) []*corev1.ServiceAccountTokenProjection {
	var tokens []*corev1.ServiceAccountTokenProjection
	for _, source := range sourcesOf(volume) {
		if source.ServiceAccountToken != nil {
			tokens = append(tokens, source.ServiceAccountToken)
		}
	}
	return tokens
}

// Collect puts the files of a volume together: each source in its order, a later
// one winning where two have the same path. An error that is *Missing says that
// sources lack what is not optional; any other that the volume is wrong.
func Collect(pod *corev1.Pod, volume *corev1.Volume, sources Sources) (Payload, error) {
	c := collector{pod: pod, sources: sources, mode: defaultMode(volume), payload: Payload{}}
	for _, source := range sourcesOf(volume) {
		switch {
		case source.ConfigMap != nil:
			c.object(Reference{ConfigMap, source.ConfigMap.Name}, source.ConfigMap.Items, source.ConfigMap.Optional)
		case source.Secret != nil:
			c.object(Reference{Secret, source.Secret.Name}, source.Secret.Items, source.Secret.Optional)
		case source.DownwardAPI != nil:
			for i := range source.DownwardAPI.Items {
				c.downward(&source.DownwardAPI.Items[i])
			}
		case source.ServiceAccountToken != nil:
			c.token(source.ServiceAccountToken)
		default:
			c.wrong = append(c.wrong, errors.New("a projected source is of a kind that is not supported here"))
		}
	}
	switch {
	case len(c.wrong) > 0:
		return nil, errors.Join(c.wrong...)
	case len(c.missing) > 0:
		return nil, &Missing{Problems: c.missing}
	}
	return c.payload, c.payload.Check()
}

// sourcesOf is a volume as the projected volume that it is the short form of.
func sourcesOf(volume *corev1.Volume) []corev1.VolumeProjection {
	switch {
	case volume.ConfigMap != nil:
		v := volume.ConfigMap
		return []corev1.VolumeProjection{{ConfigMap: &corev1.ConfigMapProjection{
			LocalObjectReference: v.LocalObjectReference, Items: v.Items, Optional: v.Optional,
		}}}
	case volume.Secret != nil:
		v := volume.Secret
		return []corev1.VolumeProjection{{Secret: &corev1.SecretProjection{
			LocalObjectReference: corev1.LocalObjectReference{Name: v.SecretName}, Items: v.Items, Optional: v.Optional,
		}}}
	case volume.DownwardAPI != nil:
		return []corev1.VolumeProjection{{DownwardAPI: &corev1.DownwardAPIProjection{Items: volume.DownwardAPI.Items}}}
	case volume.Projected != nil:
		return volume.Projected.Sources
	}
	return nil
}

// defaultMode is the mode of files that have none of their own.
func defaultMode(volume *corev1.Volume) fs.FileMode {
	var mode *int32
	switch {
	case volume.ConfigMap != nil:
		mode = volume.ConfigMap.DefaultMode
	case volume.Secret != nil:
		mode = volume.Secret.DefaultMode
	case volume.DownwardAPI != nil:
		mode = volume.DownwardAPI.DefaultMode
	case volume.Projected != nil:
		mode = volume.Projected.DefaultMode
	}
	return modeOf(mode, 0o644)
}

func modeOf(mode *int32, otherwise fs.FileMode) fs.FileMode {
	if mode == nil {
		return otherwise
	}
	return fs.FileMode(*mode).Perm()
}

// collector is a payload in the making.
type collector struct {
	pod     *corev1.Pod
	sources Sources
	mode    fs.FileMode
	payload Payload
	missing []string
	wrong   []error
}

// object adds the keys of a ConfigMap or Secret: all, or those in items under
// the paths given there.
func (c *collector) object(ref Reference, items []corev1.KeyToPath, optional *bool) {
	data, found := c.sources.Objects[ref]
	mayMiss := optional != nil && *optional
	full := fmt.Sprintf("%s %s/%s", ref.Kind, c.pod.Namespace, ref.Name)
	if !found {
		if !mayMiss {
			c.missing = append(c.missing, full+" not found")
		}
		return
	}
	if len(items) == 0 {
		for _, key := range slices.Sorted(maps.Keys(data)) {
			c.payload[key] = File{Data: data[key], Mode: c.mode}
		}
		return
	}
	for _, item := range items {
		value, found := data[item.Key]
		if !found {
			if !mayMiss {
				c.missing = append(c.missing, fmt.Sprintf("%s: key %s not found", full, item.Key))
			}
			continue
		}
		c.payload[item.Path] = File{Data: value, Mode: modeOf(item.Mode, c.mode)}
	}
}

func (c *collector) token(projection *corev1.ServiceAccountTokenProjection) {
	token, found := c.sources.Tokens[projection.Path]
	if !found {
		c.missing = append(c.missing, fmt.Sprintf("token for %s of service account %s/%s not issued", projection.Path, c.pod.Namespace, c.pod.Spec.ServiceAccountName))
		return
	}
	c.payload[projection.Path] = File{Data: []byte(token), Mode: c.mode}
}
