package native

import (
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"holdfast.dev/holdfast/internal/native/defaults"
)

// NewScheme returns a scheme with the built-in kinds, their defaults, their field selectors,
// and the conversions of the kinds that have more than one version.
//
// Each versioned Go type is also registered as the internal type of its kind. The generic API
// server converts every object between versioned and internal type; with equal types this
// costs nothing.
func NewScheme() *runtime.Scheme {
	s := NewSchemeWithoutDefaults()
	defaults.Register(s)
	for _, kind := range Kinds() {
		// Without a function, the scheme allows metadata.name and metadata.namespace, and
		// rejects other fields with the usual error message.
		if kind.Selectable != nil {
			utilruntime.Must(s.AddFieldLabelConversionFunc(kind.GroupVersionKind(), kind.FieldLabel))
		}
	}
	return s
}

// NewSchemeWithoutDefaults returns a scheme like NewScheme, but without defaults and field
// selectors. It decodes exactly the fields that a client wrote.
func NewSchemeWithoutDefaults() *runtime.Scheme {
	s := NewPublishedScheme()
	utilruntime.Must(metainternalversion.AddToScheme(s))
	addInternalTypes(s)
	// pods/eviction also accepts Evictions in v1beta1, which have the same fields.
	s.AddKnownTypeWithName(schema.GroupVersionKind{Group: policyv1.GroupName, Version: "v1beta1", Kind: "Eviction"}, &policyv1.Eviction{})
	utilruntime.Must(addEventConversions(s))
	utilruntime.Must(addAutoscalerConversions(s))
	return s
}

// NewPublishedScheme returns a scheme with the versioned types only. These are the types that
// clients know and that the OpenAPI document lists.
func NewPublishedScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	groups := runtime.NewSchemeBuilder(
		corev1.AddToScheme, appsv1.AddToScheme, batchv1.AddToScheme,
		autoscalingv1.AddToScheme, autoscalingv2.AddToScheme, policyv1.AddToScheme,
		networkingv1.AddToScheme, discoveryv1.AddToScheme, rbacv1.AddToScheme,
		coordinationv1.AddToScheme, eventsv1.AddToScheme, storagev1.AddToScheme,
		schedulingv1.AddToScheme, admissionv1.AddToScheme, authenticationv1.AddToScheme,
		authorizationv1.AddToScheme, certificatesv1.AddToScheme, flowcontrolv1.AddToScheme,
		nodev1.AddToScheme, resourcev1.AddToScheme, storagemigrationv1.AddToScheme, addAPIServices,
	)
	utilruntime.Must(groups.AddToScheme(s))
	metav1.AddToGroupVersion(s, schema.GroupVersion{Version: "v1"})
	return s
}

// addInternalTypes registers the versioned types of built-in kinds as internal types, too. The
// types of the group meta.k8s.io have separate internal types already. Events of
// events.k8s.io and autoscalers of autoscaling/v1 are left out, because they are converted to
// another version.
func addInternalTypes(s *runtime.Scheme) {
	for gvk, t := range s.AllKnownTypes() {
		if gvk.Version == runtime.APIVersionInternal || !isKindPackage(t.PkgPath()) {
			continue
		}
		if gvk.Group == eventsv1.GroupName || (gvk.Group == autoscalingv1.GroupName && gvk.Version == "v1" && gvk.Kind != "Scale") {
			continue
		}
		internal := schema.GroupVersionKind{Group: gvk.Group, Version: runtime.APIVersionInternal, Kind: gvk.Kind}
		if !s.Recognizes(internal) {
			s.AddKnownTypeWithName(internal, newLike(mustNew(s, gvk)))
		}
	}
}

// isKindPackage reports whether a Go package has types of built-in kinds.
func isKindPackage(path string) bool {
	return strings.HasPrefix(path, "k8s.io/api/") || strings.HasPrefix(path, "k8s.io/kube-aggregator/")
}

func mustNew(s *runtime.Scheme, gvk schema.GroupVersionKind) runtime.Object {
	obj, err := s.New(gvk)
	utilruntime.Must(err)
	return obj
}

// FieldLabel returns an error if field selectors for the kind must not use this label. It is
// a runtime.FieldLabelConversionFunc.
func (k Kind) FieldLabel(label, value string) (outLabel, outValue string, err error) {
	if k.Selectable == nil {
		return runtime.DefaultMetaV1FieldSelectorConversion(label, value)
	}
	if _, known := k.Selectable(k.Object)[label]; !known && label != "metadata.name" && label != "metadata.namespace" {
		return "", "", fmt.Errorf("field label not supported: %s", label)
	}
	return label, value, nil
}
