package lint

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// removal is an API version of a kind that Kubernetes no longer serves.
type removal struct {
	// release is the release of Kubernetes that removed it.
	release string
	// successor is the API version to use instead, empty if there is none.
	successor schema.GroupVersion
	// advice says what else changes with the successor, empty if nothing does. A package
	// with such a kind cannot be migrated by changing the API version alone.
	advice string
	// unless reports whether an object has what the successor requires, although there is an
	// advice. nil means that no object has.
	unless func(*unstructured.Unstructured) bool
}

// removedIn returns the removal of the API version of an object, nil if it is served.
func removedIn(object *unstructured.Unstructured) *removal {
	kind := object.GroupVersionKind()
	for _, row := range removals {
		if row.group != kind.Group || !slices.Contains(row.versions, kind.Version) ||
			len(row.kinds) > 0 && !slices.Contains(row.kinds, kind.Kind) {
			continue
		}
		found := row.removal
		if found.successor.Group == "" && found.successor.Version != "" {
			found.successor.Group = row.group
		}
		if found.unless != nil && found.unless(object) {
			found.advice = ""
		}
		return &found
	}
	return nil
}

// hasSelector reports whether a workload has a selector, which apps/v1 requires.
func hasSelector(object *unstructured.Unstructured) bool {
	_, found, err := unstructured.NestedMap(object.Object, "spec", "selector")
	return found && err == nil
}

const (
	selectorAdvice = "spec.selector is required"
	ingressAdvice  = "backend.serviceName and servicePort become backend.service.name and port, and pathType is required"
	policyAdvice   = "label the namespace with pod-security.kubernetes.io/enforce instead"
)

func v(version string) schema.GroupVersion { return schema.GroupVersion{Version: version} }

// removals lists the removed API versions, from Kubernetes' deprecation guide. Of two rows for
// a kind, the first one counts. A row without kinds is for all kinds of the group.
var removals = []struct {
	group    string
	versions []string
	kinds    []string
	removal
}{
	{"extensions", []string{"v1beta1"}, []string{"Deployment", "DaemonSet", "ReplicaSet"}, removal{
		release: "1.16", successor: schema.GroupVersion{Group: "apps", Version: "v1"}, advice: selectorAdvice, unless: hasSelector,
	}},
	{"extensions", []string{"v1beta1"}, []string{"NetworkPolicy"}, removal{
		release: "1.16", successor: schema.GroupVersion{Group: "networking.k8s.io", Version: "v1"},
	}},
	{"extensions", []string{"v1beta1"}, []string{"Ingress"}, removal{
		release: "1.22", successor: schema.GroupVersion{Group: "networking.k8s.io", Version: "v1"}, advice: ingressAdvice,
	}},
	{"extensions", []string{"v1beta1"}, []string{"PodSecurityPolicy"}, removal{release: "1.16", advice: policyAdvice}},
	{"apps", []string{"v1beta1", "v1beta2"}, []string{"Deployment", "DaemonSet", "ReplicaSet", "StatefulSet"}, removal{
		release: "1.16", successor: v("v1"), advice: selectorAdvice, unless: hasSelector,
	}},
	{"apps", []string{"v1beta1", "v1beta2"}, nil, removal{release: "1.16", successor: v("v1")}},
	{"policy", []string{"v1beta1"}, []string{"PodSecurityPolicy"}, removal{release: "1.25", advice: policyAdvice}},
	{"policy", []string{"v1beta1"}, nil, removal{release: "1.25", successor: v("v1")}},
	{"rbac.authorization.k8s.io", []string{"v1alpha1", "v1beta1"}, nil, removal{release: "1.22", successor: v("v1")}},
	{"networking.k8s.io", []string{"v1beta1"}, []string{"Ingress"}, removal{release: "1.22", successor: v("v1"), advice: ingressAdvice}},
	{"networking.k8s.io", []string{"v1beta1"}, []string{"IngressClass"}, removal{release: "1.22", successor: v("v1")}},
	{"batch", []string{"v1beta1", "v2alpha1"}, []string{"CronJob"}, removal{release: "1.25", successor: v("v1")}},
	{"storage.k8s.io", []string{"v1beta1"}, []string{"StorageClass", "CSIDriver", "CSINode", "VolumeAttachment"}, removal{
		release: "1.22", successor: v("v1"),
	}},
	{"storage.k8s.io", []string{"v1beta1"}, []string{"CSIStorageCapacity"}, removal{release: "1.27", successor: v("v1")}},
	{"scheduling.k8s.io", []string{"v1alpha1", "v1beta1"}, []string{"PriorityClass"}, removal{release: "1.22", successor: v("v1")}},
	{"coordination.k8s.io", []string{"v1beta1"}, []string{"Lease"}, removal{release: "1.22", successor: v("v1")}},
	{"discovery.k8s.io", []string{"v1beta1"}, nil, removal{
		release: "1.25", successor: v("v1"), advice: "endpoints[].topology becomes nodeName, zone and deprecatedTopology",
	}},
	{"events.k8s.io", []string{"v1beta1"}, nil, removal{release: "1.25", successor: v("v1"), advice: "more fields are required"}},
	{"node.k8s.io", []string{"v1alpha1", "v1beta1"}, []string{"RuntimeClass"}, removal{release: "1.25", successor: v("v1")}},
	{"autoscaling", []string{"v2beta2"}, nil, removal{release: "1.26", successor: v("v2")}},
	{"autoscaling", []string{"v2beta1"}, nil, removal{release: "1.25", successor: v("v2"), advice: "the targets in spec.metrics have another form"}},
	{"flowcontrol.apiserver.k8s.io", []string{"v1alpha1", "v1beta1", "v1beta2", "v1beta3"}, nil, removal{
		release: "1.32", successor: v("v1"), advice: "assuredConcurrencyShares becomes nominalConcurrencyShares",
	}},
	{"certificates.k8s.io", []string{"v1beta1"}, []string{"CertificateSigningRequest"}, removal{
		release: "1.22", successor: v("v1"), advice: "spec.signerName and spec.usages are required",
	}},
	{"admissionregistration.k8s.io", []string{"v1beta1"}, nil, removal{
		release: "1.22", successor: v("v1"), advice: "sideEffects and admissionReviewVersions are required for each webhook",
	}},
	{"apiextensions.k8s.io", []string{"v1beta1"}, []string{"CustomResourceDefinition"}, removal{
		release: "1.22", successor: v("v1"), advice: "each version needs a schema of its own; holdfast serve still accepts v1beta1",
	}},
}
