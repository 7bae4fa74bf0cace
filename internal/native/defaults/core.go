package defaults

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func namespace(ns *corev1.Namespace) {
	setDefault(&ns.Status.Phase, corev1.NamespaceActive)
	// With generateName, the name is not known yet; the label is set when it is.
	if ns.Name == "" {
		return
	}
	if ns.Labels == nil {
		ns.Labels = map[string]string{}
	}
	ns.Labels[corev1.LabelMetadataName] = ns.Name
}

// secret also moves the write-only field stringData into data. A key in stringData replaces the same key in data. Kubernetes
// does this when it decodes a Secret, so its managed fields have the keys in data.
func secret(s *corev1.Secret) {
	setDefault(&s.Type, corev1.SecretTypeOpaque)
	if s.Data == nil && len(s.StringData) > 0 {
		s.Data = make(map[string][]byte, len(s.StringData))
	}
	for key, value := range s.StringData {
		s.Data[key] = []byte(value)
	}
	s.StringData = nil
}

func podTemplate(t *corev1.PodTemplate) {
	podSpec(&t.Template.Spec)
}

// replicationController also sets its selector and labels from the labels of the template. The kinds of apps/v1 do not.
func replicationController(rc *corev1.ReplicationController) {
	setDefaultPtr(&rc.Spec.Replicas, 1)
	if rc.Spec.Template == nil {
		return
	}
	podSpec(&rc.Spec.Template.Spec)
	if len(rc.Spec.Selector) == 0 {
		rc.Spec.Selector = maps.Clone(rc.Spec.Template.Labels)
	}
	if len(rc.Labels) == 0 {
		rc.Labels = maps.Clone(rc.Spec.Template.Labels)
	}
}

func endpoints(e *corev1.Endpoints) {
	for _, subset := range e.Subsets {
		forEach(subset.Ports, func(p *corev1.EndpointPort) { setDefault(&p.Protocol, corev1.ProtocolTCP) })
	}
}

func node(n *corev1.Node) {
	// podCIDR is the first of podCIDRs. A client that knows only podCIDR replaces the list.
	switch s := &n.Spec; {
	case s.PodCIDR != "" && (len(s.PodCIDRs) == 0 || s.PodCIDRs[0] != s.PodCIDR):
		s.PodCIDRs = []string{s.PodCIDR}
	case len(s.PodCIDRs) > 0:
		s.PodCIDR = s.PodCIDRs[0]
	}
	roundUp(n.Status.Capacity)
	roundUp(n.Status.Allocatable)
	if n.Status.Allocatable == nil {
		n.Status.Allocatable = n.Status.Capacity.DeepCopy()
	}
}

func limitRange(l *corev1.LimitRange) {
	forEach(l.Spec.Limits, func(item *corev1.LimitRangeItem) {
		for _, list := range []corev1.ResourceList{item.Max, item.Min, item.Default, item.DefaultRequest, item.MaxLimitRequestRatio} {
			roundUp(list)
		}
		if item.Type != corev1.LimitTypeContainer {
			return
		}
		// Without a default limit, the maximum is the default limit. Without a default request, the
		// default limit is the default request, or the minimum if there is no default limit.
		addMissing(&item.Default, item.Max)
		addMissing(&item.DefaultRequest, item.Default)
		addMissing(&item.DefaultRequest, item.Min)
	})
}

func resourceQuota(q *corev1.ResourceQuota) {
	roundUp(q.Spec.Hard)
	roundUp(q.Status.Hard)
	roundUp(q.Status.Used)
}

// roundUp rounds all quantities up to thousandths, the smallest unit of Kubernetes.
func roundUp(list corev1.ResourceList) {
	for name, amount := range list {
		if exact := amount.RoundUp(resource.Milli); !exact {
			list[name] = amount
		}
	}
}

// addMissing copies the quantities of from that field does not have.
func addMissing(field *corev1.ResourceList, from corev1.ResourceList) {
	for name, amount := range from {
		if _, named := (*field)[name]; named {
			continue
		}
		if *field == nil {
			*field = corev1.ResourceList{}
		}
		(*field)[name] = amount.DeepCopy()
	}
}
