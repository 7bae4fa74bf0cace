package defaults

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func namespace(ns *corev1.Namespace) {
	fill(&ns.Status.Phase, corev1.NamespaceActive)
	// A namespace that is to be named by the server gets its label once it has a name.
	if ns.Name == "" {
		return
	}
	if ns.Labels == nil {
		ns.Labels = map[string]string{}
	}
	ns.Labels[corev1.LabelMetadataName] = ns.Name
}

func secret(s *corev1.Secret) {
	fill(&s.Type, corev1.SecretTypeOpaque)
}

func podTemplate(t *corev1.PodTemplate) {
	podSpec(&t.Template.Spec)
}

// replicationController also takes its selector and labels from the template, which the apps/v1 kinds no longer do.
func replicationController(rc *corev1.ReplicationController) {
	fillPtr(&rc.Spec.Replicas, 1)
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
		each(subset.Ports, func(p *corev1.EndpointPort) { fill(&p.Protocol, corev1.ProtocolTCP) })
	}
}

func node(n *corev1.Node) {
	quantities(n.Status.Capacity)
	quantities(n.Status.Allocatable)
	if n.Status.Allocatable == nil {
		n.Status.Allocatable = n.Status.Capacity.DeepCopy()
	}
}

func limitRange(l *corev1.LimitRange) {
	each(l.Spec.Limits, func(item *corev1.LimitRangeItem) {
		for _, list := range []corev1.ResourceList{item.Max, item.Min, item.Default, item.DefaultRequest, item.MaxLimitRequestRatio} {
			quantities(list)
		}
		if item.Type != corev1.LimitTypeContainer {
			return
		}
		// A container's limit is its maximum unless said otherwise; its request is that limit, or else the minimum.
		fillList(&item.Default, item.Max)
		fillList(&item.DefaultRequest, item.Default)
		fillList(&item.DefaultRequest, item.Min)
	})
}

func resourceQuota(q *corev1.ResourceQuota) {
	quantities(q.Spec.Hard)
	quantities(q.Status.Hard)
	quantities(q.Status.Used)
}

// quantities rounds amounts finer than a thousandth up: Kubernetes counts no smaller unit.
func quantities(list corev1.ResourceList) {
	for name, amount := range list {
		if exact := amount.RoundUp(resource.Milli); !exact {
			list[name] = amount
		}
	}
}

// fillList copies the amounts of from that field does not name.
func fillList(field *corev1.ResourceList, from corev1.ResourceList) {
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
