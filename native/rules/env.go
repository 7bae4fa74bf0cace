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
		on[corev1.EnvVar]("name", text[string](validation.IsRelaxedEnvVarName)),
		each(envVar),
		each(func(r *report, e *corev1.EnvVarSource) {
			if e.FieldRef != nil {
				r.under(func() { fieldPath(r, e.FieldRef.FieldPath, envFields) }, "fieldRef")
			}
		}),
		on[corev1.EnvFromSource]("prefix", text[string](validation.IsRelaxedEnvVarName)),
		each(envFrom),
		references(func(s *corev1.ConfigMapEnvSource) string { return s.Name }),
		references(func(s *corev1.SecretEnvSource) string { return s.Name }),
		references(func(s *corev1.ConfigMapKeySelector) string { return s.Name }),
		references(func(s *corev1.SecretKeySelector) string { return s.Name }),
		on[corev1.ConfigMapKeySelector]("key", text[string](validation.IsConfigMapKey)),
		on[corev1.SecretKeySelector]("key", text[string](validation.IsConfigMapKey)),
		need[corev1.ObjectFieldSelector]("apiVersion", ""),
		each(resourceField),
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

func envFrom(r *report, e *corev1.EnvFromSource) {
	switch {
	case e.ConfigMapRef == nil && e.SecretRef == nil:
		r.invalid("", "must specify one of: `configMapRef` or `secretRef`")
	case e.ConfigMapRef != nil && e.SecretRef != nil:
		r.invalid("", "may not have more than one field specified at a time")
	}
}

// The fields of a pod that a selector can name, and those among them that an environment or a volume can show.
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

// fieldPath holds the fieldPath below the current place to the supported fields, or to one key of labels or annotations.
func fieldPath(r *report, s string, supported []string) {
	if s == "" {
		return // required, said elsewhere
	}
	if name, subscript, ok := subscripted(s); ok {
		switch name {
		case "metadata.annotations", "metadata.labels":
			r.says(s, validation.IsQualifiedName(strings.ToLower(subscript)), "fieldPath")
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

// references refuses a reference to an object without a name; the name's own field is inlined.
func references[T any](name func(*T) string) rule {
	return each(func(r *report, ref *T) {
		if name(ref) == "" {
			r.required("", "name")
		}
	})
}

// present refuses an empty string.
func present(r *report, s string) {
	if s == "" {
		r.required("")
	}
}
