package references

import (
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// podRules returns the rules of the spec of a pod.
func podRules() []string {
	rules := []string{
		"Secret imagePullSecrets[*].name",
		"ConfigMap volumes[*].configMap.name",
		"ConfigMap volumes[*].projected.sources[*].configMap.name",
		"Secret volumes[*].secret.secretName",
		"Secret volumes[*].projected.sources[*].secret.name",
		"Secret volumes[*].azureFile.secretName",
		"Secret volumes[*].cephfs.secretRef.name",
		"Secret volumes[*].cinder.secretRef.name",
		"Secret volumes[*].csi.nodePublishSecretRef.name",
		"Secret volumes[*].flexVolume.secretRef.name",
		"Secret volumes[*].iscsi.secretRef.name",
		"Secret volumes[*].rbd.secretRef.name",
		"Secret volumes[*].scaleIO.secretRef.name",
		"Secret volumes[*].storageos.secretRef.name",
	}
	for _, containers := range []string{"containers", "initContainers", "ephemeralContainers"} {
		rules = append(rules,
			"ConfigMap "+containers+"[*].env[*].valueFrom.configMapKeyRef.name",
			"Secret "+containers+"[*].env[*].valueFrom.secretKeyRef.name",
			"ConfigMap "+containers+"[*].envFrom[*].configMapRef.name",
			"Secret "+containers+"[*].envFrom[*].secretRef.name",
		)
	}
	return rules
}

// volumeRules returns the rules of the spec of a PersistentVolume at a place.
func volumeRules(at string) string {
	// If the namespace is absent, it is that of the claim.
	return strings.ReplaceAll(`
Secret AT.azureFile.secretName AT.azureFile.secretNamespace
Secret AT.cephfs.secretRef
Secret AT.cinder.secretRef
Secret AT.csi.controllerExpandSecretRef
Secret AT.csi.controllerPublishSecretRef
Secret AT.csi.nodeExpandSecretRef
Secret AT.csi.nodePublishSecretRef
Secret AT.csi.nodeStageSecretRef
Secret AT.flexVolume.secretRef
Secret AT.iscsi.secretRef
Secret AT.rbd.secretRef
Secret AT.scaleIO.secretRef
Secret AT.storageos.secretRef`, "AT", at)
}

// volumeAnnotations returns the rules of the Secrets that the provisioner of a CSI driver names in the annotations of a PersistentVolume.
func volumeAnnotations() string {
	var rules strings.Builder
	for _, use := range []string{"provisioner-deletion", "controller-modify"} {
		at := `metadata.annotations["volume.kubernetes.io/` + use + "-secret-"
		rules.WriteString("\nSecret " + at + `name"] ` + at + `namespace"]`)
	}
	return rules.String()
}

// classRules returns the rules of the parameters of a StorageClass. The provisioner of a CSI driver reads them.
func classRules() string {
	var rules strings.Builder
	for _, use := range []string{
		"provisioner", "controller-publish", "node-stage", "node-publish", "controller-expand", "node-expand", "controller-modify",
	} {
		at := `parameters["csi.storage.k8s.io/` + use + "-secret-"
		rules.WriteString("\nSecret " + at + `name"] ` + at + `namespace"]`)
	}
	return rules.String()
}

// injected is the rule of the annotation by which cert-manager copies a CA from a Secret.
const injected = `Secret metadata.annotations["cert-manager.io/inject-ca-from-secret"] /`

// parameter returns the rules of a place that names an object of any kind, for example the parameters of an admission policy.
func parameter(at string) string { return "\nConfigMap " + at + "\nSecret " + at }

// builtIn has the rules of the kinds of Kubernetes and of Gateway API that refer to ConfigMaps or Secrets.
var builtIn = sync.OnceValue(func() map[schema.GroupResource]*Rules {
	all := map[schema.GroupResource]*Rules{}
	for resource, text := range map[string]string{
		"pods":                   "PodSpec spec",
		"podtemplates":           "PodTemplate template",
		"replicationcontrollers": "PodTemplate spec.template",
		"deployments.apps":       "PodTemplate spec.template",
		"replicasets.apps":       "PodTemplate spec.template",
		"statefulsets.apps":      "PodTemplate spec.template",
		"daemonsets.apps":        "PodTemplate spec.template",
		// The data is that of any controller.
		"controllerrevisions.apps": "Strings data",
		"jobs.batch":               "PodTemplate spec.template",
		"cronjobs.batch":           "PodTemplate spec.jobTemplate.spec.template",
		// Kubernetes ignores the namespace of a Secret there.
		"serviceaccounts":             "Secret secrets[*].name\nSecret imagePullSecrets[*].name",
		"ingresses.networking.k8s.io": "Secret spec.tls[*].secretName",
		"nodes": `
ConfigMap spec.configSource.configMap
ConfigMap status.config.active.configMap
ConfigMap status.config.assigned.configMap
ConfigMap status.config.lastKnownGood.configMap`,
		"persistentvolumes":                volumeRules("spec") + volumeAnnotations(),
		"volumeattachments.storage.k8s.io": volumeRules("spec.source.inlineVolumeSpec"),
		"storageclasses.storage.k8s.io":    classRules(),

		"ingressclasses.networking.k8s.io": parameter("spec.parameters"),
		// The kind of the parameters is in the policy. If the namespace is absent, it is that of the request.
		"validatingadmissionpolicybindings.admissionregistration.k8s.io": parameter("spec.paramRef"),
		"mutatingadmissionpolicybindings.admissionregistration.k8s.io":   parameter("spec.paramRef"),

		"mutatingwebhookconfigurations.admissionregistration.k8s.io":   injected,
		"validatingwebhookconfigurations.admissionregistration.k8s.io": injected,
		"apiservices.apiregistration.k8s.io":                           injected,
		"customresourcedefinitions.apiextensions.k8s.io":               injected,

		"gatewayclasses.gateway.networking.k8s.io": parameter("spec.parametersRef"),
		"gateways.gateway.networking.k8s.io": `
Secret spec.listeners[*].tls.certificateRefs[*]
Secret spec.tls.backend.clientCertificateRef
Secret spec.backendTLS.clientCertificateRef` +
			parameter("spec.infrastructure.parametersRef") +
			parameter("spec.listeners[*].tls.frontendValidation.caCertificateRefs[*]") +
			parameter("spec.tls.frontend.default.validation.caCertificateRefs[*]") +
			parameter("spec.tls.frontend.perPort[*].tls.validation.caCertificateRefs[*]"),
		"backendtlspolicies.gateway.networking.k8s.io": parameter("spec.validation.caCertificateRefs[*]"),
	} {
		rules, err := Parse(text)
		if err != nil {
			panic("references: " + resource + ": " + err.Error()) // the table is constant
		}
		all[schema.ParseGroupResource(resource)] = rules
	}
	return all
})

// BuiltIn returns the rules of a kind of Kubernetes or of Gateway API. ok is false if its objects refer to no ConfigMap or Secret.
func BuiltIn(resource schema.GroupResource) (_ *Rules, ok bool) {
	rules, ok := builtIn()[resource]
	return rules, ok
}
