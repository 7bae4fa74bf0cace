package warnings

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// volumes adds the warnings about the volumes of a pod.
func (l *list) volumes(path *field.Path, volumes []corev1.Volume) {
	for i := range volumes {
		v, at := &volumes[i], path.Index(i)
		old := func(isSet bool, name, text string) {
			if isSet {
				l.at(at.Child(name), text)
			}
		}
		old(v.PhotonPersistentDisk != nil, "photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+")
		old(v.GitRepo != nil, "gitRepo", "deprecated in v1.11, and disabled by default in v1.33+")
		old(v.ScaleIO != nil, "scaleIO", "deprecated in v1.16, non-functional in v1.22+")
		old(v.Flocker != nil, "flocker", "deprecated in v1.22, non-functional in v1.25+")
		old(v.StorageOS != nil, "storageOS", "deprecated in v1.22, non-functional in v1.25+")
		old(v.Quobyte != nil, "quobyte", "deprecated in v1.22, non-functional in v1.25+")
		old(v.Glusterfs != nil, "glusterfs", "deprecated in v1.25, non-functional in v1.26+")
		if v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil {
			l.claimSpec(at.Child("ephemeral", "volumeClaimTemplate", "spec"), &v.Ephemeral.VolumeClaimTemplate.Spec)
		}
		old(v.CephFS != nil, "cephfs", "deprecated in v1.28, non-functional in v1.31+")
		old(v.RBD != nil, "rbd", "deprecated in v1.28, non-functional in v1.31+")
	}
	for i := range volumes {
		l.files(&volumes[i])
	}
}

// file is a file of a volume, and the object that it comes from.
type file struct{ path, source string }

func (f file) String() string {
	if f.source == "" {
		return fmt.Sprintf("%q", f.path)
	}
	return fmt.Sprintf("%q (%s)", f.path, f.source)
}

// files warns about files of a volume that hide each other.
func (l *list) files(v *corev1.Volume) {
	switch {
	case v.ConfigMap != nil:
		l.overlaps(v.Name, fmt.Sprintf("ConfigMap %q", v.ConfigMap.Name), keyFiles(v.ConfigMap.Items, ""))
	case v.Secret != nil:
		l.overlaps(v.Name, fmt.Sprintf("Secret %q", v.Secret.SecretName), keyFiles(v.Secret.Items, ""))
	case v.DownwardAPI != nil:
		l.overlaps(v.Name, "DownwardAPI", fieldFiles(v.DownwardAPI.Items, ""))
	case v.Projected != nil:
		var all []file
		for i := range v.Projected.Sources {
			source := &v.Projected.Sources[i]
			if *source == (corev1.VolumeProjection{}) {
				l.add("volume %q (Projected) has no sources provided", v.Name)
				continue
			}
			all = append(all, projectedFiles(source)...)
		}
		l.overlaps(v.Name, "Projected", all)
	}
}

func projectedFiles(source *corev1.VolumeProjection) []file {
	switch {
	case source.ConfigMap != nil:
		return keyFiles(source.ConfigMap.Items, fmt.Sprintf("ConfigMap %q", source.ConfigMap.Name))
	case source.Secret != nil:
		return keyFiles(source.Secret.Items, fmt.Sprintf("Secret %q", source.Secret.Name))
	case source.DownwardAPI != nil:
		return fieldFiles(source.DownwardAPI.Items, "DownwardAPI")
	case source.ServiceAccountToken != nil:
		return []file{{source.ServiceAccountToken.Path, "ServiceAccountToken"}}
	case source.ClusterTrustBundle != nil:
		bundle := source.ClusterTrustBundle
		name := bundle.Name
		if name == nil {
			name = bundle.SignerName
		}
		return []file{{bundle.Path, fmt.Sprintf("ClusterTrustBundle %q", *name)}}
	case source.PodCertificate != nil:
		certificate := source.PodCertificate
		return []file{
			{certificate.CertificateChainPath, "PodCertificate chain"},
			{certificate.KeyPath, "PodCertificate key"},
			{certificate.CredentialBundlePath, "PodCertificate credential bundle"},
		}
	}
	return nil
}

func keyFiles(items []corev1.KeyToPath, source string) []file {
	var files []file
	for _, item := range items {
		files = append(files, file{item.Path, source})
	}
	return files
}

func fieldFiles(items []corev1.DownwardAPIVolumeFile, source string) []file {
	var files []file
	for _, item := range items {
		files = append(files, file{item.Path, source})
	}
	return files
}

// overlaps warns about each pair of files with the same path, or with a path below the other.
func (l *list) overlaps(volume, source string, files []file) {
	for i := range files {
		files[i].path = strings.TrimRight(files[i].path, "/")
		for _, earlier := range files[:i] {
			if overlap(files[i].path, earlier.path) {
				l.add("volume %q (%s): overlapping paths: %s with %s", volume, source, files[i], earlier)
			}
		}
	}
}

func overlap(a, b string) bool {
	return a != "" && b != "" && (strings.HasPrefix(a+"/", b+"/") || strings.HasPrefix(b+"/", a+"/"))
}
