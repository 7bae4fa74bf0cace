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

// Kind is a kind of object that volumes reference by name.
type Kind string

// The kinds, spelled as in messages and metrics.
const (
	ConfigMap Kind = "configmap"
	Secret    Kind = "secret"
)

// Reference is a reference of a volume to an object in the namespace of its pod.
type Reference struct {
	Kind Kind
	Name string
}

// Sources holds the content that Collect puts into files.
type Sources struct {
	// Objects holds the data of every referenced object that exists, by key.
	Objects map[Reference]map[string][]byte
	// Tokens holds the service account tokens by the path of their file.
	Tokens map[string]string
	// TrustBundles are all ClusterTrustBundles of the cluster.
	TrustBundles []TrustBundle
	// Group, unless it is nil, is the group of the files.
	Group *int
	// Allocatable holds the resources of the node. A downward API file shows them as
	// the limits of a container that sets no limits.
	Allocatable corev1.ResourceList
}

// MissingError lists all objects, keys and tokens that a volume needs and that Sources
// does not have.
type MissingError struct {
	Problems []string
}

// Error implements error.
func (m *MissingError) Error() string { return strings.Join(m.Problems, "; ") }

// Supported reports whether this package can write a volume of this type.
func Supported(volume *corev1.Volume) bool {
	return volume.ConfigMap != nil || volume.Secret != nil || volume.DownwardAPI != nil || volume.Projected != nil
}

// References returns the objects that a volume references, each once.
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

// Tokens returns the service account token projections of a volume.
func Tokens(volume *corev1.Volume) []*corev1.ServiceAccountTokenProjection {
	var tokens []*corev1.ServiceAccountTokenProjection
	for _, source := range sourcesOf(volume) {
		if source.ServiceAccountToken != nil {
			tokens = append(tokens, source.ServiceAccountToken)
		}
	}
	return tokens
}

// Collect returns the files of a volume. If two sources of a projected volume have the
// same path, the later source wins. The error is a *MissingError if something is missing
// that is not optional. Any other error means that the volume itself is invalid.
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
		case source.ClusterTrustBundle != nil:
			c.trustBundle(source.ClusterTrustBundle)
		default:
			c.invalid = append(c.invalid, fmt.Errorf("this agent does not provide projected sources of type %s", typeOf(&source)))
		}
	}
	switch {
	case len(c.invalid) > 0:
		return nil, errors.Join(c.invalid...)
	case len(c.missing) > 0:
		return nil, &MissingError{Problems: c.missing}
	}
	for path, file := range c.payload {
		file.Group = sources.Group
		if hasFSGroup(pod) {
			file.Mode |= groupRead
		}
		c.payload[path] = file
	}
	return c.payload, c.payload.Check()
}

const (
	// groupRead are the bits that the kubelet adds to files for a pod with an fsGroup.
	groupRead = 0o440
	// tokenMode is the mode of a token if the pod says which user or group needs it.
	tokenMode = 0o640
)

// hasFSGroup reports whether the group of the files is set in the pod.
func hasFSGroup(pod *corev1.Pod) bool {
	return pod.Spec.SecurityContext != nil && pod.Spec.SecurityContext.FSGroup != nil
}

// FileUser returns the user that all containers of a pod run as. It returns false if the pod
// does not say so, or if the containers run as different users.
func FileUser(pod *corev1.Pod) (int64, bool) {
	var all *int64
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			user := userOf(pod, &containers[i])
			if user == nil || all != nil && *all != *user {
				return 0, false
			}
			all = user
		}
	}
	if all == nil {
		return 0, false
	}
	return *all, true
}

// userOf returns the user that a container runs as, or nil.
func userOf(pod *corev1.Pod, container *corev1.Container) *int64 {
	if context := container.SecurityContext; context != nil && context.RunAsUser != nil {
		return context.RunAsUser
	}
	if context := pod.Spec.SecurityContext; context != nil {
		return context.RunAsUser
	}
	return nil
}

// typeOf names a projected source that is not supported.
func typeOf(source *corev1.VolumeProjection) string {
	if source.PodCertificate != nil {
		return "podCertificate"
	}
	return "unknown"
}

// sourcesOf returns the sources of a projected volume. A ConfigMap, Secret or downward
// API volume is converted to a projected volume with one source.
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

// defaultMode returns the mode of files for which the volume sets no mode.
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

// modeOf returns the permission bits of mode, or fallback if mode is nil.
func modeOf(mode *int32, fallback fs.FileMode) fs.FileMode {
	if mode == nil {
		return fallback
	}
	return fs.FileMode(*mode).Perm()
}

// collector builds the payload of one volume.
type collector struct {
	pod     *corev1.Pod
	sources Sources
	mode    fs.FileMode
	payload Payload
	// missing lists the objects, keys and tokens that sources does not have. invalid
	// lists the errors in the volume itself.
	missing []string
	invalid []error
}

// object adds the files of a ConfigMap or Secret: one for each key, or one for each
// item if items are set.
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
		c.add(item.Path, File{Data: value, Mode: modeOf(item.Mode, c.mode)})
	}
}

// add adds a file under the shortest form of its path.
func (c *collector) add(path string, file File) {
	clean, err := CleanPath(path)
	if err != nil {
		c.invalid = append(c.invalid, err)
		return
	}
	c.payload[clean] = file
}

func (c *collector) token(projection *corev1.ServiceAccountTokenProjection) {
	token, found := c.sources.Tokens[projection.Path]
	if !found {
		c.missing = append(c.missing, fmt.Sprintf("token for %s of service account %s/%s not issued",
			projection.Path, c.pod.Namespace, c.pod.Spec.ServiceAccountName))
		return
	}
	mode := c.mode
	if _, hasUser := FileUser(c.pod); hasUser || hasFSGroup(c.pod) {
		mode = tokenMode
	}
	c.add(projection.Path, File{Data: []byte(token), Mode: mode})
}
