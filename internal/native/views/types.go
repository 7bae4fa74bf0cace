package views

import (
	"errors"
	"reflect"
	"sync"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/internal/native"
	"holdfast.dev/holdfast/internal/native/openapi"
	"holdfast.dev/holdfast/ownership"
)

// Types holds the ownership types of all built-in kinds.
type Types struct {
	load func() map[schema.GroupKind]*ownership.Type
}

// New returns the types. They are loaded by the first call of Of.
func New() *Types { return &Types{load: sync.OnceValue(load)} }

// Of returns the type of a kind, or nil if the kind is not built in.
func (t *Types) Of(kind schema.GroupKind) *ownership.Type { return t.load()[kind] }

// markAllocated marks the fields of a Service that native.KeepAllocated copies from the
// stored Service if a client sends none.
func markAllocated(service *ownership.View) {
	service.Allocate("spec", "clusterIP")
	service.Allocate("spec", "clusterIPs")
	service.Allocate("spec", "healthCheckNodePort")
	service.Allocate("spec", "ports", "nodePort")
}

// markTwins marks the fields that the server keeps equal to another one of the same record, see package native/defaults: the old name
// of a field, and the list whose first item is the field. The other field wins if a write sets both.
func markTwins(views *ownership.Views) {
	views.Follow(corev1.PodSpec{}.OpenAPIModelName(), "serviceAccount", "serviceAccountName")
	views.Follow(corev1.ServiceSpec{}.OpenAPIModelName(), "clusterIPs", "clusterIP")
	views.Follow(corev1.NodeSpec{}.OpenAPIModelName(), "podCIDRs", "podCIDR")
}

// aggregated returns the field that a controller computes in a ClusterRole with an aggregationRule.
func aggregated(role map[string]any) []string {
	if role["aggregationRule"] == nil {
		return nil
	}
	return []string{"rules"}
}

func load() map[schema.GroupKind]*ownership.Type {
	definitions := openapi.GetOpenAPIDefinitions(func(name string) spec.Ref {
		return spec.MustCreateRef("#/components/schemas/" + name)
	})
	models := make(map[string]*spec.Schema, len(definitions))
	for name, definition := range definitions {
		models[name] = &definition.Schema
	}
	scheme, defaulting := native.NewSchemeWithoutDefaults(), native.NewScheme()
	applied, managed := ownership.NewViews(models, ownership.ClientSide), ownership.NewViews(models, ownership.ServerSide)
	markTwins(applied)
	markTwins(managed)
	types := map[schema.GroupKind]*ownership.Type{}
	for _, kind := range native.Kinds() {
		gvk := kind.GroupVersionKind()
		model, ok := reflect.Zero(reflect.TypeOf(kind.Object).Elem()).Interface().(interface{ OpenAPIModelName() string })
		if !ok {
			continue
		}
		appliedView, err := applied.View(model.OpenAPIModelName())
		managedView, errManaged := managed.View(model.OpenAPIModelName())
		if errors.Join(err, errManaged) != nil {
			// Package ownership reports that it does not check kinds without a schema.
			continue
		}
		if gvk.GroupKind() == corev1.SchemeGroupVersion.WithKind("Service").GroupKind() {
			markAllocated(appliedView)
		}
		t := &ownership.Type{
			Applied: appliedView, Managed: managedView, BuiltIn: true,
			Canonical: canonical{scheme: scheme, hub: gvk}.decode,
			Default:   canonical{scheme: defaulting, hub: gvk}.withDefaults,
			Redacted:  gvk.GroupKind() == corev1.SchemeGroupVersion.WithKind("Secret").GroupKind(),
		}
		if gvk.GroupKind() == rbacv1.SchemeGroupVersion.WithKind("ClusterRole").GroupKind() {
			t.Free = aggregated
		}
		types[gvk.GroupKind()] = t
	}
	return types
}
