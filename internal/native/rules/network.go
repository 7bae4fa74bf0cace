package rules

import (
	"fmt"
	"net/netip"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
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
		onField[networkingv1.IPBlock]("cidr", cidr),
		onStruct(ipBlock),
	}
}

func ingressHost(r *report, s string) {
	if s == "" {
		return
	}
	if _, err := netip.ParseAddr(s); err == nil {
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
	if *p.PathType == networkingv1.PathTypeImplementationSpecific {
		if p.Path != "" && !strings.HasPrefix(p.Path, "/") {
			r.invalid(p.Path, "must be an absolute path", "path")
		}
		return
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
	namespaced := p.Namespace != nil && *p.Namespace != ""
	switch *p.Scope {
	case networkingv1.IngressClassParametersReferenceScopeNamespace:
		if !namespaced {
			r.required("`parameters.scope` is set to 'Namespace'", "namespace")
		}
	case networkingv1.IngressClassParametersReferenceScopeCluster:
		if namespaced {
			r.forbidden("`parameters.scope` is set to 'Cluster'", "namespace")
		}
	}
}

func networkPort(r *report, p *networkingv1.NetworkPolicyPort) {
	if p.Port == nil {
		if p.EndPort != nil {
			r.required("must be specified when `endPort` is specified", "port")
		}
		return
	}
	r.under(func() { portOrName(r, *p.Port) }, "port")
	if p.EndPort == nil {
		return
	}
	if p.Port.Type == intstr.String {
		r.required("must be an integer port when `endPort` is specified", "port")
		return
	}
	if *p.EndPort < p.Port.IntVal {
		r.invalid(*p.EndPort, "must be greater than or equal to `port`", "endPort")
	}
	r.invalidAll(*p.EndPort, validation.IsValidPortNum(int(*p.EndPort)), "endPort")
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
	block, err := netip.ParsePrefix(b.CIDR)
	if err != nil {
		return // another check rejects the block
	}
	for i, s := range b.Except {
		r.under(func() { cidr(r, s) }, "except", i)
		if except, err := netip.ParsePrefix(s); err == nil && (!block.Contains(except.Addr()) || except.Bits() <= block.Bits()) {
			r.invalid(s, "must be a strict subset of `cidr`", "except", i)
		}
	}
}
