package quota

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/quota/v1/generic"
)

var (
	serviceCount = generic.ObjectCountQuotaResourceNameFor(corev1.Resource("services"))

	// serviceNames are the resource names under which services have usage.
	serviceNames = []corev1.ResourceName{
		serviceCount, corev1.ResourceServices, corev1.ResourceServicesNodePorts, corev1.ResourceServicesLoadBalancers,
	}
)

func newServiceEvaluator() *evaluator {
	return &evaluator{
		resource: corev1.Resource("services"),
		// The type and the ports of a service can change.
		handles: func(a admission.Attributes) bool {
			return a.GetSubresource() == "" && (a.GetOperation() == admission.Create || a.GetOperation() == admission.Update)
		},
		limitedBy: func(name corev1.ResourceName) bool { return slices.Contains(serviceNames, name) },
		usage: func(obj runtime.Object) (corev1.ResourceList, error) {
			service, err := as[*corev1.Service](obj)
			if err != nil {
				return nil, err
			}
			return serviceUsage(service), nil
		},
	}
}

func serviceUsage(service *corev1.Service) corev1.ResourceList {
	balancers, ports := 0, 0
	switch service.Spec.Type {
	case corev1.ServiceTypeNodePort:
		ports = len(service.Spec.Ports)
	case corev1.ServiceTypeLoadBalancer:
		balancers, ports = 1, len(service.Spec.Ports)
		// If the server does not allocate node ports, only those in the spec count.
		if allocate := service.Spec.AllocateLoadBalancerNodePorts; allocate != nil && !*allocate {
			ports = 0
			for _, port := range service.Spec.Ports {
				if port.NodePort != 0 {
					ports++
				}
			}
		}
	case corev1.ServiceTypeClusterIP, corev1.ServiceTypeExternalName:
	}
	return corev1.ResourceList{
		serviceCount:                         number(1),
		corev1.ResourceServices:              number(1),
		corev1.ResourceServicesNodePorts:     number(ports),
		corev1.ResourceServicesLoadBalancers: number(balancers),
	}
}
