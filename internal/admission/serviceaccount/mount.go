package serviceaccount

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
)

const (
	// mountPath is where client libraries look for the token.
	mountPath    = "/var/run/secrets/kubernetes.io/serviceaccount"
	volumePrefix = "kube-api-access-"
	// tokenSeconds is one hour and 7 seconds. Kubernetes uses this unusual value to
	// recognize tokens that this plugin requested.
	tokenSeconds = 60*60 + 7
	rootCA       = "kube-root-ca.crt"
)

// automounts reports whether the token is mounted into the pod. The field of the pod
// has precedence over that of the service account. The default is true.
func automounts(pod *corev1.Pod, account *corev1.ServiceAccount) bool {
	if pod.Spec.AutomountServiceAccountToken != nil {
		return *pod.Spec.AutomountServiceAccountToken
	}
	return account.AutomountServiceAccountToken == nil || *account.AutomountServiceAccountToken
}

// mountToken mounts the token into every container that does not mount another volume
// at mountPath. It adds the volume if at least one container needs it.
func mountToken(pod *corev1.Pod) {
	name := volumePrefix + utilrand.String(5)
	present := slices.IndexFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return strings.HasPrefix(v.Name, volumePrefix) })
	if present >= 0 {
		name = pod.Spec.Volumes[present].Name
	}
	needed := false
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			mounts := &containers[i].VolumeMounts
			if slices.ContainsFunc(*mounts, func(m corev1.VolumeMount) bool { return m.MountPath == mountPath }) {
				continue
			}
			*mounts = append(*mounts, corev1.VolumeMount{Name: name, ReadOnly: true, MountPath: mountPath})
			needed = true
		}
	}
	if needed && present < 0 {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: tokenSource()})
	}
}

// tokenSource returns the volume source: the token, the server's CA certificate and
// the namespace of the pod.
func tokenSource() corev1.VolumeSource {
	mode := corev1.ProjectedVolumeSourceDefaultMode
	seconds := int64(tokenSeconds)
	return corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		DefaultMode: &mode,
		Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: &seconds}},
			{ConfigMap: &corev1.ConfigMapProjection{
				LocalObjectReference: corev1.LocalObjectReference{Name: rootCA},
				Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
			}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{
				Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"},
			}}}},
		},
	}}
}
