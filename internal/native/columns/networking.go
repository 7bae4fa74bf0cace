package columns

import (
	"fmt"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var ingresses = table(name,
	text("Class", "The IngressClass that serves the ingress", func(i *networkingv1.Ingress) string {
		return valueOr(i.Spec.IngressClassName, none)
	}),
	text("Hosts", "Hosts that the rules are for", ingressHosts),
	text("Address", "Where the load balancer is reached", func(i *networkingv1.Ingress) string {
		var balancers []string
		for _, b := range i.Status.LoadBalancer.Ingress {
			balancers = append(balancers, stringOr(b.IP, b.Hostname))
		}
		return strings.Join(sortedAddresses(balancers), ",")
	}),
	text("Ports", "Ports that are open, the second with TLS", func(i *networkingv1.Ingress) string {
		if len(i.Spec.TLS) > 0 {
			return "80, 443"
		}
		return "80"
	}),
	age)

// ingressHosts returns up to three hosts. As in Kubernetes, the number after them is the number of
// all rules minus three, including rules without a host.
func ingressHosts(i *networkingv1.Ingress) string {
	var hosts []string
	for _, rule := range i.Spec.Rules {
		if len(hosts) == 3 {
			return fmt.Sprintf("%s + %d more...", strings.Join(hosts, ","), len(i.Spec.Rules)-3)
		}
		if rule.Host != "" {
			hosts = append(hosts, rule.Host)
		}
	}
	return stringOr(strings.Join(hosts, ","), "*")
}

var ingressClasses = table(name,
	text("Controller", "The controller that serves the class", func(c *networkingv1.IngressClass) string {
		return c.Spec.Controller
	}),
	text("Parameters", "The object that configures the controller", func(c *networkingv1.IngressClass) string {
		p := c.Spec.Parameters
		if p == nil {
			return none
		}
		if p.APIGroup != nil {
			return p.Kind + "." + *p.APIGroup + "/" + p.Name
		}
		return p.Kind + "/" + p.Name
	}),
	age)

var networkPolicies = table(name,
	text("Pod-Selector", networkingv1.NetworkPolicySpec{}.SwaggerDoc()["podSelector"], func(p *networkingv1.NetworkPolicy) string {
		return metav1.FormatLabelSelector(&p.Spec.PodSelector)
	}),
	age)

var endpointSliceDoc = discoveryv1.EndpointSlice{}.SwaggerDoc()

var endpointSlices = table(name,
	text("AddressType", endpointSliceDoc["addressType"], func(s *discoveryv1.EndpointSlice) string { return string(s.AddressType) }),
	text("Ports", endpointSliceDoc["ports"], func(s *discoveryv1.EndpointSlice) string {
		var ports []string
		for _, p := range s.Ports {
			if p.Port != nil {
				ports = append(ports, fmt.Sprint(*p.Port))
			} else {
				ports = append(ports, valueOr(p.Name, "*"))
			}
		}
		return stringOr(firstThree(ports), unset)
	}),
	text("Endpoints", endpointSliceDoc["endpoints"], func(s *discoveryv1.EndpointSlice) string {
		var all []string
		for _, e := range s.Endpoints {
			all = append(all, e.Addresses...)
		}
		return stringOr(firstThree(all), unset)
	}),
	age)
