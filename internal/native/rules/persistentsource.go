package rules

import (
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
)

// persistentSourceRules are the rules for the types of volumes that only a PersistentVolume can have.
func persistentSourceRules() []rule {
	return []rule{
		onField[corev1.LocalVolumeSource]("path", noBacksteps),
		onField[corev1.GlusterfsPersistentVolumeSource]("endpointsNamespace", func(r *report, s string) {
			if s == "" {
				r.invalid(s, "if the endpointnamespace is set, it must be a valid namespace name")
				return
			}
			r.invalidAll(s, apivalidation.ValidateNamespaceName(s, false))
		}),
		onField[corev1.ISCSIPersistentVolumeSource]("iqn", func(r *report, s string) {
			if s != "" {
				iscsiNode(r, s)
			}
		}),
		onField[corev1.ISCSIPersistentVolumeSource]("lun", within[int32](0, 255)),
		onStruct(persistentISCSI),
		onStruct(func(r *report, s *corev1.CinderPersistentVolumeSource) { secretReference(r, s.SecretRef) }),
		onField[corev1.FlexPersistentVolumeSource]("options", flexOptions),
		onField[corev1.AzureFilePersistentVolumeSource]("secretNamespace", func(r *report, s string) {
			if s == "" {
				r.required("")
			}
		}),
		notRequired[corev1.ScaleIOPersistentVolumeSource]("secretRef"),
		require[corev1.ScaleIOPersistentVolumeSource]("volumeName", ""),
		require[corev1.StorageOSPersistentVolumeSource]("volumeName", ""),
		onField[corev1.StorageOSPersistentVolumeSource]("volumeName", dnsLabel),
		onField[corev1.StorageOSPersistentVolumeSource]("volumeNamespace", dnsLabel),
		onStruct(func(r *report, s *corev1.StorageOSPersistentVolumeSource) {
			if s.SecretRef != nil {
				secretReference(r, &corev1.SecretReference{Name: s.SecretRef.Name, Namespace: s.SecretRef.Namespace})
			}
		}),
		onField[corev1.CSIPersistentVolumeSource]("driver", csiDriver),
		onField[corev1.CSIVolumeSource]("driver", csiDriver),
		onStruct(csiSecrets),
	}
}

// iscsiNode checks the name of an iSCSI node. Kubernetes has another text for the volume of a pod.
func iscsiNode(r *report, s string) {
	if pattern, ok := iscsiNames[s[:min(3, len(s))]]; !ok || !pattern.MatchString(s) {
		r.invalid(s, "must be valid format")
	}
}

func persistentISCSI(r *report, s *corev1.ISCSIPersistentVolumeSource) {
	switch {
	case s.SecretRef == nil && (s.DiscoveryCHAPAuth || s.SessionCHAPAuth):
		r.required("", "secretRef")
	case s.SecretRef != nil && s.SecretRef.Name == "":
		r.required("", "secretRef", "name")
	}
	if s.InitiatorName != nil {
		r.under(func() { iscsiNode(r, *s.InitiatorName) }, "initiatorname")
	}
}

// secretReference checks that a reference to a Secret has a name and a namespace.
func secretReference(r *report, s *corev1.SecretReference) {
	if s == nil {
		return
	}
	if s.Name == "" {
		r.required("", "secretRef", "name")
	}
	if s.Namespace == "" {
		r.required("", "secretRef", "namespace")
	}
}

// csiSecrets checks the names of the Secrets that a CSI driver gets.
func csiSecrets(r *report, s *corev1.CSIPersistentVolumeSource) {
	for _, secret := range []struct {
		field string
		ref   *corev1.SecretReference
	}{
		{"controllerPublishSecretRef", s.ControllerPublishSecretRef},
		{"controllerExpandSecretRef", s.ControllerExpandSecretRef},
		{"nodePublishSecretRef", s.NodePublishSecretRef},
		{"nodeExpandSecretRef", s.NodeExpandSecretRef},
	} {
		if secret.ref == nil {
			continue
		}
		r.under(func() {
			requiredName(r, secret.ref.Name, validation.IsDNS1123Subdomain, "name")
			requiredName(r, secret.ref.Namespace, validation.IsDNS1123Label, "namespace")
		}, secret.field)
	}
}

// requiredName checks a name that must not be empty.
func requiredName(r *report, name string, validate func(string) []string, rest ...any) {
	if name == "" {
		r.required("", rest...)
		return
	}
	r.invalidAll(name, validate(name), rest...)
}
