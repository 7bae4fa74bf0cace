package custom

import (
	"fmt"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	kubeversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	"k8s.io/client-go/scale"

	"holdfast.dev/holdfast/apiserver/subresource"
)

// newScopes creates the request scopes of the endpoints of a version.
func newScopes(v *version) (scopes, error) {
	options := runtime.NewScheme()
	options.AddUnversionedTypes(v.groupVersion(), &metav1.ListOptions{}, &metav1.GetOptions{}, &metav1.DeleteOptions{})
	typer := newTyper(options)
	serializer := newRequestSerializer(v, typer)
	main := handlers.RequestScope{
		Namer:               handlers.ContextBasedNaming{Namer: meta.NewAccessor(), ClusterScoped: !v.resource.namespaced()},
		Serializer:          serializer,
		ParameterCodec:      runtime.NewParameterCodec(options),
		StandardSerializers: serializer.infos[:2], // JSON and YAML, but not protobuf

		Creater:                  creater{},
		Convertor:                v.resource.convertor,
		Defaulter:                defaulter{v.resource.convertor},
		Typer:                    typer,
		UnsafeConvertor:          unsafeConvertor{v.resource.convertor},
		EquivalentResourceMapper: equivalents(v.resource),

		Resource:         v.groupVersion().WithResource(v.resource.groupResource().Resource),
		Kind:             v.groupVersionKind(),
		HubGroupVersion:  v.groupVersion(),
		MetaGroupVersion: metav1.SchemeGroupVersion,
		TableConvertor:   v.store.TableConvertor,
		Authorizer:       v.resource.server.config.Authorizer,

		MaxRequestBodyBytes: v.resource.server.config.MaxBody,
	}
	var out scopes
	var err error
	updates := merger{updateTypes{v.resource.merger.types, v.resource}}
	if out.main, err = updates.scope(main, v.store.GetResetFields()); err != nil {
		return out, err
	}
	read := *out.main
	cached := serializer
	cached.texts = &v.resource.server.texts
	read.Serializer = cached
	out.read = &read
	if v.status != nil {
		status := main
		status.Subresource = "status"
		if out.status, err = updates.scope(status, v.status.GetResetFields()); err != nil {
			return out, err
		}
	}
	if v.scale != nil {
		out.scale, err = updates.scope(scaleScope(main), nil)
	}
	return out, err
}

func scaleScope(main handlers.RequestScope) handlers.RequestScope {
	scheme := scale.NewScaleConverter().Scheme()
	main.Subresource = "scale"
	main.Serializer = serializer.NewCodecFactory(scheme)
	main.StandardSerializers = nil
	main.Kind = autoscalingv1.SchemeGroupVersion.WithKind("Scale")
	main.HubGroupVersion = main.Kind.GroupVersion()
	main.Creater, main.Convertor, main.Defaulter, main.Typer = scheme, scheme, scheme, scheme
	main.UnsafeConvertor = runtime.UnsafeObjectConvertor(scheme)
	main.TableConvertor = &subresource.Scale{}
	return main
}

// equivalents tells admission which versions a resource has.
func equivalents(r *resource) runtime.EquivalentResourceRegistry {
	registry := runtime.NewEquivalentResourceRegistry()
	for _, v := range r.versions {
		resource := v.groupVersion().WithResource(r.groupResource().Resource)
		registry.RegisterKindFor(resource, "", v.groupVersionKind())
		if v.compiled.HasStatus() {
			registry.RegisterKindFor(resource, "status", v.groupVersionKind())
		}
		if v.compiled.Scale() != nil {
			registry.RegisterKindFor(resource, "scale", autoscalingv1.SchemeGroupVersion.WithKind("Scale"))
		}
	}
	return registry
}

// deprecation returns the warnings for clients that use a deprecated version.
func deprecation(v *version) []string {
	if !v.spec.Deprecated {
		return nil
	}
	if v.spec.DeprecationWarning != nil {
		return []string{*v.spec.DeprecationWarning}
	}
	kind := v.resource.kind.Kind
	message := fmt.Sprintf("%s %s is deprecated", v.groupVersion(), kind)
	best := ""
	for name, other := range v.resource.versions {
		newer := other.spec.Served && !other.spec.Deprecated && compareVersions(v.name, name) < 0
		if newer && (best == "" || compareVersions(best, name) < 0) {
			best = name
		}
	}
	if best != "" {
		message += fmt.Sprintf("; use %s/%s %s", v.resource.kind.Group, best, kind)
	}
	return []string{message}
}

func compareVersions(a, b string) int { return kubeversion.CompareKubeAwareVersionStrings(a, b) }
