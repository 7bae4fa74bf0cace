package rules

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
)

func envRules() []rule {
	return []rule{
		onField[corev1.EnvVar]("name", validString[string](validation.IsRelaxedEnvVarName)),
		onStruct(envVar),
		onStruct(func(r *report, e *corev1.EnvVarSource) {
			if e.FieldRef != nil {
				r.under(func() { fieldPath(r, e.FieldRef.FieldPath, envFields) }, "fieldRef")
			}
		}),
		onField[corev1.EnvFromSource]("prefix", validString[string](validation.IsRelaxedEnvVarName)),
		onField[corev1.Container]("envFrom", envFrom),
		onField[corev1.EphemeralContainerCommon]("envFrom", envFrom),
		namedReference(func(s *corev1.ConfigMapEnvSource) string { return s.Name }),
		namedReference(func(s *corev1.SecretEnvSource) string { return s.Name }),
		namedReference(func(s *corev1.ConfigMapKeySelector) string { return s.Name }),
		namedReference(func(s *corev1.SecretKeySelector) string { return s.Name }),
		onField[corev1.ConfigMapKeySelector]("key", validString[string](validation.IsConfigMapKey)),
		onField[corev1.SecretKeySelector]("key", validString[string](validation.IsConfigMapKey)),
		require[corev1.ObjectFieldSelector]("apiVersion", ""),
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
		"metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid", "spec.hostNetwork",
		"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "status.hostIP", "status.hostIPs",
		"status.nominatedNodeName", "status.phase", "status.podIP", "status.podIPs",
	}
	envFields = []string{
		"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
		"status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
	}
	volumeFields = []string{"metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"}
)

// fieldPath checks that a fieldPath is one of the supported fields, or one key of the labels or annotations.
func fieldPath(r *report, s string, supported []string) {
	if s == "" {
		return // the schema requires the field
	}
	if name, subscript, ok := subscripted(s); ok {
		switch name {
		case "metadata.annotations", "metadata.labels":
			r.invalidAll(s, validation.IsQualifiedName(strings.ToLower(subscript)), "fieldPath")
		default:
			r.invalid(s, "does not support subscript", "fieldPath")
		}
		return
	}
	if !slices.Contains(podFields, s) {
		r.invalid(s, "error converting fieldPath: field label not supported: "+s, "fieldPath")
		return
	}
	if !slices.Contains(supported, s) {
		r.unsupported(s, supported, "fieldPath")
	}
}

// subscripted splits metadata.labels['app'] into the field and the key.
func subscripted(s string) (name, subscript string, ok bool) {
	name, rest, found := strings.Cut(s, "['")
	subscript, closed := strings.CutSuffix(rest, "']")
	return name, subscript, found && closed
}

var containerResources = []string{
	"limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", "requests.ephemeral-storage", "requests.memory",
}

func resourceField(r *report, f *corev1.ResourceFieldSelector) {
	if f.Resource == "" {
		return
	}
	huge := strings.HasPrefix(f.Resource, "limits.hugepages-") || strings.HasPrefix(f.Resource, "requests.hugepages-")
	if !huge && !slices.Contains(containerResources, f.Resource) {
		r.unsupported(f.Resource, containerResources, "resource")
		return
	}
	allowed := []string{"1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"}
	_, name, _ := strings.Cut(f.Resource, ".")
	switch {
	case name == "cpu":
		allowed = []string{"1m", "1"}
	case huge:
		name = "hugepages"
	}
	divides := func(s string) bool { return f.Divisor.Cmp(resource.MustParse(s)) == 0 }
	if f.Divisor.IsZero() || slices.ContainsFunc(allowed, divides) {
		return
	}
	list := strings.Join(allowed[:len(allowed)-1], ", ") + " and " + allowed[len(allowed)-1]
	r.invalid(f.Divisor.String(), fmt.Sprintf("only divisor's values %s are supported with the %s resource", list, name), "divisor")
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
