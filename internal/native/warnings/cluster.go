package warnings

import (
	"crypto/tls"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// oldNodeLabels are deprecated labels of nodes.
var oldNodeLabels = map[string]string{
	"beta.kubernetes.io/arch":                       `deprecated since v1.14; use "kubernetes.io/arch" instead`,
	"beta.kubernetes.io/os":                         `deprecated since v1.14; use "kubernetes.io/os" instead`,
	"failure-domain.beta.kubernetes.io/region":      `deprecated since v1.17; use "topology.kubernetes.io/region" instead`,
	"failure-domain.beta.kubernetes.io/zone":        `deprecated since v1.17; use "topology.kubernetes.io/zone" instead`,
	"beta.kubernetes.io/instance-type":              `deprecated since v1.17; use "node.kubernetes.io/instance-type" instead`,
	"app.kubernetes.io/created-by":                  `deprecated since v1.9`,
	"scheduler.alpha.kubernetes.io/preferAvoidPods": `deprecated since v1.22; use Taints and Tolerations instead`,
	"node-role.kubernetes.io/master":                `use "node-role.kubernetes.io/control-plane" instead`,
}

func (l *list) nodeTerms(path *field.Path, terms []corev1.NodeSelectorTerm) {
	for i := range terms {
		l.nodeTerm(path.Index(i), &terms[i])
	}
}

func (l *list) nodeTerm(path *field.Path, term *corev1.NodeSelectorTerm) {
	for i, expression := range term.MatchExpressions {
		if text, ok := oldNodeLabels[expression.Key]; ok {
			l.at(path.Child("matchExpressions").Index(i).Child("key"), expression.Key+" is "+text)
		}
	}
}

// labelValues warns about values that no label can have. A required term with such a value is
// invalid, a preferred one is not.
func (l *list) labelValues(path *field.Path, term *corev1.NodeSelectorTerm) {
	for i, expression := range term.MatchExpressions {
		for j, value := range expression.Values {
			for _, problem := range validation.IsValidLabelValue(value) {
				l.at(path.Child("matchExpressions").Index(i).Child("values").Index(j), value+" is invalid, "+problem)
			}
		}
	}
}

func (l *list) node(n *corev1.Node) {
	if n.Spec.ConfigSource != nil { //nolint:staticcheck // it warns about the deprecated field
		l.add("spec.configSource: the feature is removed")
	}
	if n.Spec.DoNotUseExternalID != "" {
		l.add("spec.externalID: this field is deprecated, and is unused by Kubernetes")
	}
	for i, block := range n.Spec.PodCIDRs {
		l.cidr(field.NewPath("spec", "podCIDRs").Index(i), block)
	}
}

func (l *list) runtimeClass(c *nodev1.RuntimeClass) {
	if c.Scheduling == nil {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(c.Scheduling.NodeSelector)) {
		if text, ok := oldNodeLabels[key]; ok {
			l.at(field.NewPath("scheduling", "nodeSelector"), text)
		}
	}
}

// quota warns about requests that the quota limits less than the limits.
func (l *list) quota(q *corev1.ResourceQuota) {
	for _, name := range []corev1.ResourceName{
		corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceStorage, corev1.ResourceEphemeralStorage,
	} {
		requests, limits := "requests."+name, "limits."+name
		if _, ok := q.Spec.Hard[requests]; !ok && (name == corev1.ResourceCPU || name == corev1.ResourceMemory) {
			requests = name
		}
		request, hasRequest := q.Spec.Hard[requests]
		limit, hasLimit := q.Spec.Hard[limits]
		if hasRequest && hasLimit && request.Cmp(limit) > 0 {
			l.add("ResourceQuota %s (%s) should be less than %s (%s)", requests, request.String(), limits, limit.String())
		}
	}
}

// secret warns about a certificate that does not fit its key.
func (l *list) secret(s *corev1.Secret) {
	if s.Type != corev1.SecretTypeTLS {
		return
	}
	if _, err := tls.X509KeyPair(s.Data[corev1.TLSCertKey], s.Data[corev1.TLSPrivateKeyKey]); err != nil {
		*l = append(*l, err.Error())
	}
}

func (l *list) resourceSlice(s *resourcev1.ResourceSlice) {
	if s.Spec.Driver != strings.ToLower(s.Spec.Driver) {
		l.at(field.NewPath("spec", "driver"), fmt.Sprintf("driver names should be lowercase; %q contains uppercase characters", s.Spec.Driver))
	}
}

// admission warns about names that Kubernetes reserves for admission configuration in files.
func (l *list) admission(obj runtime.Object) {
	const reserved = ".static.k8s.io"
	if object, err := meta.Accessor(obj); err == nil && strings.HasSuffix(object.GetName(), reserved) {
		l.add("metadata.name: names ending with %q are reserved for static manifest-based configurations and cannot be managed via the API", reserved)
	}
}
