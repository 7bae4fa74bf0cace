package rules

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
)

func envRules() []rule {
	return []rule{
		onField[corev1.EnvVar]("name", validString[string](validation.IsRelaxedEnvVarName)),
		onStruct(envVar),
		onStruct(func(r *report, e *corev1.EnvVarSource) {
			if e.FieldRef != nil {
				r.under(func() { fieldPath(r, e.FieldRef, envFields) }, "fieldRef")
			}
		}),
		onField[corev1.EnvFromSource]("prefix", validString[string](validation.IsRelaxedEnvVarName)),
		onField[corev1.Container]("envFrom", envFrom),
		onStruct(func(r *report, s *corev1.ConfigMapEnvSource) { envReference(r, s.Name) }),
		onStruct(func(r *report, s *corev1.SecretEnvSource) { envReference(r, s.Name) }),
		onStruct(func(r *report, s *corev1.ConfigMapKeySelector) { keyReference(r, s.Name) }),
		onStruct(func(r *report, s *corev1.SecretKeySelector) { keyReference(r, s.Name) }),
		onField[corev1.ConfigMapKeySelector]("key", validString[string](validation.IsConfigMapKey)),
		onField[corev1.SecretKeySelector]("key", validString[string](validation.IsConfigMapKey)),
		onField[corev1.FileKeySelector]("key", validString[string](validation.IsRelaxedEnvVarName)),
		onField[corev1.FileKeySelector]("volumeName", dnsLabel),
		onField[corev1.FileKeySelector]("path", noBacksteps),
		require[corev1.ObjectFieldSelector]("apiVersion", ""),
		when("fieldPath", func(_ *report, s *corev1.ObjectFieldSelector) bool { return s.APIVersion != "" }),
		when("resource", func(r *report, s *corev1.ResourceFieldSelector) bool { return s.ContainerName != "" || !inVolume(r) }),
		onStruct(resourceField),
	}
}

func envVar(r *report, e *corev1.EnvVar) {
	from := e.ValueFrom
	if from == nil {
		return
	}
	sources := 0
	for _, set := range []bool{
		from.FieldRef != nil, from.ResourceFieldRef != nil, from.ConfigMapKeyRef != nil,
		from.SecretKeyRef != nil, from.FileKeyRef != nil,
	} {
		if set {
			sources++
		}
	}
	switch {
	case sources == 0:
		r.invalid("", "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`", "valueFrom")
	case e.Value != "":
		r.invalid("", "may not be specified when `value` is not empty", "valueFrom")
	case sources > 1:
		r.invalid("", "may not have more than one field specified at a time", "valueFrom")
	}
}

// envFrom checks that each source is one object. As in Kubernetes, an error has the path of the list.
func envFrom(r *report, sources []corev1.EnvFromSource) {
	for _, e := range sources {
		switch {
		case e.ConfigMapRef == nil && e.SecretRef == nil:
			r.invalid("", "must specify one of: `configMapRef` or `secretRef`")
		case e.ConfigMapRef != nil && e.SecretRef != nil:
			r.invalid("", "may not have more than one field specified at a time")
		}
	}
}

// podFields are the fields of a pod with a field label. envFields are those that environment variables can use, and
// volumeFields are those that downward API volumes can use.
var (
	podFields = []string{
		"metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.restartPolicy",
		"spec.schedulerName", "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.phase", "status.podIP", "status.podIPs",
	}
	envFields = []string{
		"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
		"status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
	}
	volumeFields = []string{"metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"}
)

// fieldPath checks that a fieldPath is one of the supported fields, or one key of the labels or annotations.
func fieldPath(r *report, f *corev1.ObjectFieldSelector, supported []string) {
	if f.APIVersion == "" || f.FieldPath == "" {
		return // both are required
	}
	path := f.FieldPath
	if path == "spec.host" { // the name of old clients
		path = "spec.nodeName"
	}
	name, subscript, isSubscripted := subscripted(path)
	switch {
	case f.APIVersion != "v1":
		r.invalid(f.FieldPath, "error converting fieldPath: unsupported pod version: "+f.APIVersion, "fieldPath")
	case isSubscripted && name == "metadata.annotations":
		r.invalidAll(subscript, validation.IsQualifiedName(strings.ToLower(subscript)))
	case isSubscripted && name == "metadata.labels":
		r.invalidAll(subscript, validation.IsQualifiedName(subscript))
	case isSubscripted:
		r.invalid(f.FieldPath, "error converting fieldPath: field label does not support subscript: "+f.FieldPath, "fieldPath")
	case !slices.Contains(podFields, path):
		r.invalid(f.FieldPath, "error converting fieldPath: field label not supported: "+f.FieldPath, "fieldPath")
	case !slices.Contains(supported, path):
		r.unsupported(path, supported, "fieldPath")
	}
}

// subscripted splits metadata.labels['app'] into the field and the key.
func subscripted(s string) (name, subscript string, ok bool) {
	name, rest, found := strings.Cut(s, "['")
	subscript, closed := strings.CutSuffix(rest, "']")
	return name, subscript, found && closed && name != ""
}

var containerResources = []string{
	"limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", "requests.ephemeral-storage", "requests.memory",
}

// inVolume reports whether the checked value is in a volume, and not in a container.
func inVolume(r *report) bool { return slices.Contains(r.at, any("volumes")) }

func resourceField(r *report, f *corev1.ResourceFieldSelector) {
	huge := strings.HasPrefix(f.Resource, "limits.hugepages-") || strings.HasPrefix(f.Resource, "requests.hugepages-")
	known := huge || slices.Contains(containerResources, f.Resource)
	switch {
	case f.ContainerName == "" && inVolume(r):
		r.required("", "containerName")
	case f.Resource != "" && !known:
		r.unsupported(f.Resource, containerResources, "resource")
	}
	if !known || f.Divisor.IsZero() {
		return
	}
	_, name, _ := strings.Cut(f.Resource, ".")
	allowed, list := strings.Split(byteDivisors, ", "), byteDivisors
	switch {
	case huge:
		name = "hugepages"
	case name == "cpu":
		allowed, list = []string{"1m", "1"}, "1m and 1"
	case name == "ephemeral-storage":
		name = "local ephemeral storage"
	}
	if !slices.Contains(allowed, f.Divisor.String()) {
		r.invalid(f.Resource, fmt.Sprintf("only divisor's values %s are supported with the %s resource", list, name), "divisor")
	}
}

// byteDivisors are the divisors of a resource that is counted in bytes.
const byteDivisors = "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei"

// envReference checks the name of a ConfigMap or Secret. Its entries become environment variables.
func envReference(r *report, name string) {
	if name == "" {
		r.required("", "name")
		return
	}
	r.invalidAll(name, apivalidation.NameIsDNSSubdomain(name, true), "name")
}

// keyReference checks the name of an object with a key.
func keyReference(r *report, name string) {
	r.invalidAll(name, apivalidation.NameIsDNSSubdomain(name, false), "name")
}

// namedReference returns a rule that requires the name of a reference to an object. It is a rule
// for the whole struct, because the field name is in the inlined LocalObjectReference.
func namedReference[T any](name func(*T) string) rule {
	return onStruct(func(r *report, ref *T) {
		if name(ref) == "" {
			r.required("", "name")
		}
	})
}

// notEmptyString rejects an empty string.
func notEmptyString(r *report, s string) {
	if s == "" {
		r.required("")
	}
}
