package rules

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"
)

func nodeRules() []rule {
	return []rule{
		skip[corev1.NodeSpec]("taints"),
		onField[corev1.NodeSpec]("podCIDRs", podCIDRs),
		skip[corev1.NodeSpec]("configSource"),
		onField[corev1.NodeSpec]("configSource", func(r *report, s corev1.NodeConfigSource) {
			if c := s.ConfigMap; c != nil {
				r.under(func() {
					refuseSet(r, "uid must not be set in spec", setField{"uid", c.UID != ""})
					refuseSet(r, "resourceVersion must not be set in spec", setField{"resourceVersion", c.ResourceVersion != ""})
				}, "configMap")
			}
			nodeConfig(r, s)
		}),
		onStruct(nodeSpec),
		onStruct(nodeStatus),
	}
}

// nodeSpec checks the taints of a Node, and the fields that can be set once.
func nodeSpec(r *report, n *corev1.Node) {
	// Kubernetes writes the path of the taints so.
	r.under(func() { taints(r, n.Spec.Taints) }, "metadata", "taints")
	old, ok := r.old.(*corev1.Node)
	if !ok {
		return
	}
	const once = "node updates may not change %s except from \"\" to valid"
	if len(old.Spec.PodCIDRs) > 0 && !slices.Equal(old.Spec.PodCIDRs, n.Spec.PodCIDRs) {
		r.unchangeable(fmt.Sprintf(once, "podCIDR"), "spec", "podCIDRs")
	}
	if old.Spec.ProviderID != "" && old.Spec.ProviderID != n.Spec.ProviderID {
		r.unchangeable(fmt.Sprintf(once, "providerID"), "spec", "providerID")
	}
	if old.Spec.DoNotUseExternalID != n.Spec.DoNotUseExternalID {
		r.unchangeable("may not be updated", "spec", "externalID")
	}
}

func taints(r *report, list []corev1.Taint) {
	for i, t := range list {
		r.invalidAll(t.Key, validation.IsQualifiedName(t.Key), i, "key")
		if messages := validation.IsValidLabelValue(t.Value); len(messages) > 0 {
			r.invalid(t.Value, strings.Join(messages, ";"), i, "value")
		}
		effects := []string{string(corev1.TaintEffectNoExecute), string(corev1.TaintEffectNoSchedule), string(corev1.TaintEffectPreferNoSchedule)}
		switch {
		case t.Effect == "":
			r.required("", i, "effect")
		case !slices.Contains(effects, string(t.Effect)):
			r.unsupported(t.Effect, effects, i, "effect")
		}
		if slices.ContainsFunc(list[:i], func(o corev1.Taint) bool { return o.Key == t.Key && o.Effect == t.Effect }) {
			err := field.Duplicate(r.path(i), t)
			err.Detail = "taints must be unique by key and effect pair"
			r.add(field.ErrorList{err})
		}
	}
}

func podCIDRs(r *report, ranges []string) {
	eachItem(knownCIDR())(r, ranges)
	if len(ranges) < 2 {
		return
	}
	dual, err := netutils.IsDualStackCIDRStrings(ranges)
	if err != nil {
		r.add(field.ErrorList{field.InternalError(r.path(), fmt.Errorf("invalid PodCIDRs. failed to check with dual stack with error:%w", err))})
	}
	if !dual || len(ranges) > 2 {
		r.invalid(ranges, "may specify no more than one CIDR for each IP family")
	}
}

var featureName = regexp.MustCompile(`^[A-Z][0-9A-Za-z]*(/[A-Za-z][0-9A-Za-z]*)*$`)

// nodeStatus checks the status of a Node. A node agent registers its Node together with the status.
func nodeStatus(r *report, n *corev1.Node) {
	s := &n.Status
	r.under(func() {
		for _, name := range sortedNames(s.Capacity) {
			r.under(func() { resourceQuantity(r, name, s.Capacity[name]) }, "capacity", string(name))
		}
		for _, name := range sortedNames(s.Allocatable) {
			r.under(func() { resourceQuantity(r, name, s.Allocatable[name]) }, "allocatable", string(name))
		}
		r.under(func() { declaredFeatures(r, s.DeclaredFeatures) }, "declaredFeatures")
		if r.create {
			return
		}
		for i, address := range s.Addresses {
			if slices.Contains(s.Addresses[:i], address) {
				r.duplicate(address, "addresses", i)
			}
		}
		configStatus(r, s.Config)
	}, "status")
	if swap := s.NodeInfo.Swap; r.create && swap != nil && swap.Capacity != nil && *swap.Capacity <= 0 {
		// Kubernetes writes this path so.
		r.invalid(*swap.Capacity, "must be greater than zero", "metadata", "nodeSwapStatus", "capacity")
	}
}

func declaredFeatures(r *report, features []string) {
	for i, name := range features {
		switch {
		case len(name) > validation.DNS1123SubdomainMaxLength:
			r.invalid(name, fmt.Sprintf("invalid feature name %q: must be no more than %d characters", name, validation.DNS1123SubdomainMaxLength), i)
		case !featureName.MatchString(name):
			r.invalid(name, fmt.Sprintf("invalid feature name %q: must start with an UpperCamelCase segment, with subsequent segments "+
				"separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes", name), i)
		}
		if i == 0 {
			continue
		}
		switch before := features[i-1]; {
		case before == name:
			r.duplicate(name, i)
		case before > name:
			r.invalid(name, "list must be sorted alphabetically", i)
		}
	}
}

// configStatus checks the configuration that a kubelet of an old version reports.
func configStatus(r *report, c *corev1.NodeConfigStatus) {
	if c == nil {
		return
	}
	for _, part := range []struct {
		name   string
		source *corev1.NodeConfigSource
	}{{"assigned", c.Assigned}, {"active", c.Active}, {"lastKnownGood", c.LastKnownGood}} {
		if part.source == nil {
			continue
		}
		r.under(func() {
			if m := part.source.ConfigMap; m != nil {
				r.under(func() {
					requireSet(r, namedText{"uid", string(m.UID)}, namedText{"resourceVersion", m.ResourceVersion})
				}, "configMap")
			}
			nodeConfig(r, *part.source)
		}, "config", part.name)
	}
}

func nodeConfig(r *report, s corev1.NodeConfigSource) {
	m := s.ConfigMap
	if m == nil {
		r.invalid(s, "exactly one reference subfield must be non-nil")
		return
	}
	r.under(func() {
		requireSet(r, namedText{"namespace", m.Namespace}, namedText{"name", m.Name}, namedText{"kubeletConfigKey", m.KubeletConfigKey})
		r.under(func() { dnsLabel(r, m.Namespace) }, "namespace")
		r.under(func() { dnsSubdomain(r, m.Name) }, "name")
		if m.KubeletConfigKey != "" {
			r.invalidAll(m.KubeletConfigKey, validation.IsConfigMapKey(m.KubeletConfigKey), "kubeletConfigKey")
		}
	}, "configMap")
}

// namedText is a field and its value.
type namedText struct{ name, value string }

// requireSet requires fields.
func requireSet(r *report, fields ...namedText) {
	for _, f := range fields {
		if f.value == "" {
			r.required("", f.name)
		}
	}
}
