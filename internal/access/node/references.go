package node

import corev1 "k8s.io/api/core/v1"

// Object identifies an object that a pod refers to: a ConfigMap, a Secret or, in an
// Index, a service account, a PersistentVolumeClaim or a ResourceClaim.
type Object struct {
	Resource, Namespace, Name string
}

// References returns the ConfigMaps and Secrets that a pod refers to in its volumes,
// in the environment of its containers, and as image pull secrets. The result may
// contain duplicates.
func References(pod *corev1.Pod) []Object {
	r := &references{namespace: pod.Namespace}
	for _, ref := range pod.Spec.ImagePullSecrets {
		r.secret(ref.Name)
	}
	for i := range pod.Spec.Volumes {
		r.volume(&pod.Spec.Volumes[i].VolumeSource)
	}
	for i := range pod.Spec.InitContainers {
		r.environment(pod.Spec.InitContainers[i].Env, pod.Spec.InitContainers[i].EnvFrom)
	}
	for i := range pod.Spec.Containers {
		r.environment(pod.Spec.Containers[i].Env, pod.Spec.Containers[i].EnvFrom)
	}
	for i := range pod.Spec.EphemeralContainers {
		r.environment(pod.Spec.EphemeralContainers[i].Env, pod.Spec.EphemeralContainers[i].EnvFrom)
	}
	return r.found
}

type references struct {
	namespace string
	found     []Object
}

func (r *references) secret(name string)    { r.add("secrets", r.namespace, name) }
func (r *references) configMap(name string) { r.add("configmaps", r.namespace, name) }

func (r *references) add(resource, namespace, name string) {
	if name != "" {
		r.found = append(r.found, Object{Resource: resource, Namespace: namespace, Name: name})
	}
}

// secretRef adds the Secret of a volume source that has an optional reference.
func (r *references) secretRef(ref *corev1.LocalObjectReference) {
	if ref != nil {
		r.secret(ref.Name)
	}
}

func (r *references) volume(source *corev1.VolumeSource) {
	switch {
	case source.ConfigMap != nil:
		r.configMap(source.ConfigMap.Name)
	case source.Secret != nil:
		r.secret(source.Secret.SecretName)
	case source.Projected != nil:
		for _, projection := range source.Projected.Sources {
			if projection.ConfigMap != nil {
				r.configMap(projection.ConfigMap.Name)
			}
			if projection.Secret != nil {
				r.secret(projection.Secret.Name)
			}
		}
	case source.AzureFile != nil:
		r.secret(source.AzureFile.SecretName)
	case source.CSI != nil:
		r.secretRef(source.CSI.NodePublishSecretRef)
	case source.CephFS != nil:
		r.secretRef(source.CephFS.SecretRef)
	case source.Cinder != nil:
		r.secretRef(source.Cinder.SecretRef)
	case source.FlexVolume != nil:
		r.secretRef(source.FlexVolume.SecretRef)
	case source.ISCSI != nil:
		r.secretRef(source.ISCSI.SecretRef)
	case source.RBD != nil:
		r.secretRef(source.RBD.SecretRef)
	case source.ScaleIO != nil:
		r.secretRef(source.ScaleIO.SecretRef)
	case source.StorageOS != nil:
		r.secretRef(source.StorageOS.SecretRef)
	}
}

func (r *references) environment(env []corev1.EnvVar, from []corev1.EnvFromSource) {
	for i := range env {
		if env[i].ValueFrom == nil {
			continue
		}
		if ref := env[i].ValueFrom.ConfigMapKeyRef; ref != nil {
			r.configMap(ref.Name)
		}
		if ref := env[i].ValueFrom.SecretKeyRef; ref != nil {
			r.secret(ref.Name)
		}
	}
	for i := range from {
		if ref := from[i].ConfigMapRef; ref != nil {
			r.configMap(ref.Name)
		}
		if ref := from[i].SecretRef; ref != nil {
			r.secret(ref.Name)
		}
	}
}
