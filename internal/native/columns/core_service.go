package columns

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

var serviceSpec = corev1.ServiceSpec{}.SwaggerDoc()

var services = table(name,
	text("Type", serviceSpec["type"], func(s *corev1.Service) string { return string(s.Spec.Type) }),
	text("Cluster-IP", serviceSpec["clusterIP"], func(s *corev1.Service) string {
		if len(s.Spec.ClusterIPs) == 0 {
			return none
		}
		return s.Spec.ClusterIPs[0]
	}),
	text("External-IP", serviceSpec["externalIPs"], externalIP),
	text("Port(s)", serviceSpec["ports"], func(s *corev1.Service) string {
		return stringOr(join(s.Spec.Ports, servicePort), none)
	}),
	age,
	text("Selector", serviceSpec["selector"], func(s *corev1.Service) string {
		return labels.FormatLabels(s.Spec.Selector)
	}).wide())

func externalIP(s *corev1.Service) string {
	switch s.Spec.Type {
	case corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort:
		return stringOr(strings.Join(s.Spec.ExternalIPs, ","), none)
	case corev1.ServiceTypeLoadBalancer:
		var balancers []string
		for _, i := range s.Status.LoadBalancer.Ingress {
			balancers = append(balancers, stringOr(i.IP, i.Hostname))
		}
		return stringOr(strings.Join(append(sortedAddresses(balancers), s.Spec.ExternalIPs...), ","), "<pending>")
	case corev1.ServiceTypeExternalName:
		return s.Spec.ExternalName
	}
	return unknown
}

// sortedAddresses sorts a list and removes duplicates and empty strings.
func sortedAddresses(list []string) []string {
	slices.Sort(list)
	return slices.DeleteFunc(slices.Compact(list), func(a string) bool { return a == "" })
}

func servicePort(p corev1.ServicePort) string {
	if p.NodePort > 0 {
		return fmt.Sprintf("%d:%d/%s", p.Port, p.NodePort, p.Protocol)
	}
	return fmt.Sprintf("%d/%s", p.Port, p.Protocol)
}

var endpoints = table(name,
	text("Endpoints", corev1.Endpoints{}.SwaggerDoc()["subsets"], func(e *corev1.Endpoints) string {
		if len(e.Subsets) == 0 {
			return none
		}
		var list []string
		for _, subset := range e.Subsets {
			list = append(list, subsetAddresses(subset)...)
		}
		return firstThree(list)
	}),
	age)

// subsetAddresses returns each address with each port, or the addresses alone if there are no ports.
func subsetAddresses(subset corev1.EndpointSubset) []string {
	var list []string
	for _, port := range subset.Ports {
		for _, address := range subset.Addresses {
			list = append(list, net.JoinHostPort(address.IP, strconv.Itoa(int(port.Port))))
		}
	}
	if len(subset.Ports) > 0 {
		return list
	}
	for _, address := range subset.Addresses {
		list = append(list, address.IP)
	}
	return list
}
