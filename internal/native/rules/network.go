package rules

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"
)

func networkRules() []rule {
	return []rule{
		onStruct(func(r *report, s *networkingv1.IngressSpec) {
			if len(s.Rules) == 0 && s.DefaultBackend == nil {
				r.invalid(s.Rules, "either `defaultBackend` or `rules` must be specified")
			}
		}),
		onField[networkingv1.IngressSpec]("ingressClassName", func(r *report, s string) { r.invalidAll(s, validation.IsDNS1123Subdomain(s)) }),
		onField[networkingv1.IngressRule]("host", ingressHost),
		onField[networkingv1.IngressTLS]("hosts", eachItem(func(r *report, s string) {
			if strings.Contains(s, "*") {
				r.invalidAll(s, validation.IsWildcardDNS1123Subdomain(s))
				return
			}
			r.invalidAll(s, validation.IsDNS1123Subdomain(s))
		})),
		onField[networkingv1.IngressTLS]("secretName", dnsSubdomain),
		require[networkingv1.HTTPIngressPath]("pathType", "pathType must be specified"),
		when("backend", func(_ *report, p *networkingv1.HTTPIngressPath) bool { return p.PathType != nil }),
		when("service", func(_ *report, b *networkingv1.IngressBackend) bool { return b.Resource == nil }),
		when("resource", func(_ *report, b *networkingv1.IngressBackend) bool { return b.Service == nil }),
		onStruct(ingressPath),
		onStruct(ingressBackend),
		onField[networkingv1.IngressServiceBackend]("name", dnsLabel),

		onField[networkingv1.ParentReference]("resource", validString[string](content.IsPathSegmentName)),
		onField[networkingv1.ParentReference]("name", validString[string](content.IsPathSegmentName)),

		require[networkingv1.IngressClassSpec]("controller", ""),
		onField[networkingv1.IngressClassSpec]("controller", ingressController),
		onField[networkingv1.IngressClassParametersReference]("apiGroup", dnsSubdomain),
		onField[networkingv1.IngressClassParametersReference]("kind", validString[string](content.IsPathSegmentName)),
		onField[networkingv1.IngressClassParametersReference]("name", validString[string](content.IsPathSegmentName)),
		oneOf[networkingv1.IngressClassParametersReference]("scope", "Cluster", "Namespace"),
		onStruct(classParameters),

		onField[networkingv1.NetworkPolicySpec]("policyTypes", func(r *report, types []networkingv1.PolicyType) {
			if len(types) > 2 {
				r.invalid(types, "may not specify more than two policyTypes")
			}
		}),
		onStruct(networkPort),
		onStruct(networkPeer),
		onStruct(ipBlock),
	}
}

func ingressHost(r *report, s string) {
	if s == "" {
		return
	}
	if netutils.ParseIPSloppy(s) != nil {
		r.invalid(s, "must be a DNS name, not an IP address")
	}
	if strings.Contains(s, "*") {
		r.invalidAll(s, validation.IsWildcardDNS1123Subdomain(s))
		return
	}
	r.invalidAll(s, validation.IsDNS1123Subdomain(s))
}

func ingressPath(r *report, p *networkingv1.HTTPIngressPath) {
	if p.PathType == nil {
		return
	}
	switch *p.PathType {
	case networkingv1.PathTypeImplementationSpecific:
		if p.Path != "" && !strings.HasPrefix(p.Path, "/") {
			r.invalid(p.Path, "must be an absolute path", "path")
		}
		return
	case networkingv1.PathTypeExact, networkingv1.PathTypePrefix:
	default:
		return // another check rejects the type
	}
	if !strings.HasPrefix(p.Path, "/") {
		r.invalid(p.Path, "must be an absolute path", "path")
	}
	for _, bad := range []string{"//", "/./", "/../", "%2f", "%2F"} {
		if strings.Contains(p.Path, bad) {
			r.invalid(p.Path, fmt.Sprintf("must not contain '%s'", bad), "path")
		}
	}
	for _, bad := range []string{"/..", "/."} {
		if strings.HasSuffix(p.Path, bad) {
			r.invalid(p.Path, fmt.Sprintf("cannot end with '%s'", bad), "path")
		}
	}
}

func ingressBackend(r *report, b *networkingv1.IngressBackend) {
	switch {
	case b.Resource != nil && b.Service != nil:
		r.invalid("", "cannot set both resource and service backends")
	case b.Resource == nil && b.Service == nil:
		r.invalid("", "resource or service backend is required")
	case b.Service != nil:
		servicePort(r, b.Service)
	default:
		r.under(func() { backendResource(r, b.Resource) }, "resource")
	}
}

// backendResource checks a reference to an object. Another check requires its kind and its name.
func backendResource(r *report, ref *corev1.TypedLocalObjectReference) {
	if ref.APIGroup != nil {
		r.invalidAll(*ref.APIGroup, validation.IsDNS1123Subdomain(*ref.APIGroup), "apiGroup")
	}
	for _, part := range []struct{ name, value string }{{"kind", ref.Kind}, {"name", ref.Name}} {
		if part.value != "" {
			r.invalidAll(part.value, content.IsPathSegmentName(part.value), part.name)
		}
	}
}

// servicePort checks that the port of a backend has either a name or a number.
func servicePort(r *report, b *networkingv1.IngressServiceBackend) {
	switch p := b.Port; {
	case p.Name != "" && p.Number != 0:
		r.invalid(p, "cannot set both port name & port number")
	case p.Name != "":
		r.invalidAll(p.Name, validation.IsValidPortName(p.Name), "service", "port", "name")
	case p.Number != 0:
		r.invalidAll(p.Number, validation.IsValidPortNum(int(p.Number)), "service", "port", "number")
	default:
		r.required("port name or number is required")
	}
}

func ingressController(r *report, s string) {
	if s == "" {
		return
	}
	if len(s) > 250 {
		r.add(field.ErrorList{field.TooLong(r.path(), s, 250)})
	}
	r.add(validation.IsDomainPrefixedPath(r.path(), s))
}

func classParameters(r *report, p *networkingv1.IngressClassParametersReference) {
	if p.Scope == nil {
		r.required("", "scope")
		return
	}
	switch *p.Scope {
	case networkingv1.IngressClassParametersReferenceScopeNamespace:
		if p.Namespace == nil {
			r.required("`parameters.scope` is set to 'Namespace'", "namespace")
			return
		}
		r.invalidAll(*p.Namespace, apivalidation.ValidateNamespaceName(*p.Namespace, false), "namespace")
	case networkingv1.IngressClassParametersReferenceScopeCluster:
		if p.Namespace != nil {
			r.forbidden("`parameters.scope` is set to 'Cluster'", "namespace")
		}
	}
}

func networkPort(r *report, p *networkingv1.NetworkPolicyPort) {
	if p.Port != nil {
		r.under(func() { portOrName(r, *p.Port) }, "port")
	}
	switch {
	case p.EndPort == nil:
	case p.Port == nil:
		r.invalid(*p.EndPort, "may not be specified when `port` is not specified", "endPort")
	case p.Port.Type == intstr.String:
		r.invalid(*p.EndPort, "may not be specified when `port` is non-numeric", "endPort")
	default:
		if *p.EndPort < p.Port.IntVal {
			r.invalid(*p.EndPort, "must be greater than or equal to `port`", "endPort")
		}
		r.invalidAll(*p.EndPort, validation.IsValidPortNum(int(*p.EndPort)), "endPort")
	}
}

func networkPeer(r *report, p *networkingv1.NetworkPolicyPeer) {
	switch {
	case p.IPBlock != nil && (p.PodSelector != nil || p.NamespaceSelector != nil):
		r.forbidden("may not specify both ipBlock and another peer")
	case p.IPBlock == nil && p.PodSelector == nil && p.NamespaceSelector == nil:
		r.required("must specify a peer")
	}
}

// ipBlock checks that each exception of a block is a strict subset of it.
func ipBlock(r *report, b *networkingv1.IPBlock) {
	if b.CIDR == "" {
		return // the schema requires it
	}
	check := knownCIDR(storedBlocks(r.old)...)
	r.under(func() { check(r, b.CIDR) }, "cidr")
	_, block, err := netutils.ParseCIDRSloppy(b.CIDR)
	if err != nil {
		return
	}
	bits, _ := block.Mask.Size()
	for i, s := range b.Except {
		r.under(func() { check(r, s) }, "except", i)
		_, except, err := netutils.ParseCIDRSloppy(s)
		if err != nil {
			continue
		}
		if own, _ := except.Mask.Size(); !block.Contains(except.IP) || own <= bits {
			r.invalid(s, "must be a strict subset of `cidr`", "except", i)
		}
	}
}

// storedBlocks returns all ranges of a stored NetworkPolicy. They may have forms that are not allowed any more.
func storedBlocks(old runtime.Object) []string {
	policy, ok := old.(*networkingv1.NetworkPolicy)
	if !ok {
		return nil
	}
	var peers []networkingv1.NetworkPolicyPeer
	for _, rule := range policy.Spec.Ingress {
		peers = append(peers, rule.From...)
	}
	for _, rule := range policy.Spec.Egress {
		peers = append(peers, rule.To...)
	}
	var blocks []string
	for _, peer := range peers {
		if peer.IPBlock != nil {
			blocks = append(append(blocks, peer.IPBlock.CIDR), peer.IPBlock.Except...)
		}
	}
	return blocks
}
