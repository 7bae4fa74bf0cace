package served

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

	"holdfast.dev/holdfast/internal/apiserver/custom/answer"
	"holdfast.dev/holdfast/internal/apiserver/custom/kind"
	"holdfast.dev/holdfast/internal/apiserver/custom/object"
	"holdfast.dev/holdfast/internal/apiserver/subresource"
)

// scopes are the request scopes of the endpoints of a version. status and scale are nil if the version does not have the subresource.
type scopes struct {
	main, status, scale *handlers.RequestScope
	// reads are the scopes for GET, LIST and WATCH of the objects.
	reads answer.Reads
}

// newScopes creates the request scopes of the endpoints of a version.
func newScopes(v *Version) scopes {
	options := runtime.NewScheme()
	options.AddUnversionedTypes(v.GroupVersion(), &metav1.ListOptions{}, &metav1.GetOptions{}, &metav1.DeleteOptions{})
	typer := object.NewTyper(options)
	serializer := answer.NewSerializer(v.Version, typer, v.config.Answers)
	main := handlers.RequestScope{
		Namer:               handlers.ContextBasedNaming{Namer: meta.NewAccessor(), ClusterScoped: !v.resource.Namespaced()},
		Serializer:          serializer,
		ParameterCodec:      runtime.NewParameterCodec(options),
		StandardSerializers: serializer.Standard(),

		Creater:                  object.Creater{},
		Convertor:                v.resource.Convertor,
		Defaulter:                v.resource.Convertor,
		Typer:                    typer,
		UnsafeConvertor:          kind.Unsafe{Convertor: v.resource.Convertor},
		EquivalentResourceMapper: equivalents(v.Kind),

		Resource:         v.GroupVersion().WithResource(v.resource.GroupResource().Resource),
		Kind:             v.GroupVersionKind(),
		HubGroupVersion:  v.GroupVersion(),
		MetaGroupVersion: metav1.SchemeGroupVersion,
		TableConvertor:   v.store.TableConvertor,
		Authorizer:       v.config.Authorizer,

		MaxRequestBodyBytes: v.config.MaxBody,
	}
	out := scopes{main: &main, reads: answer.NewReads(&main)}
	if v.status != nil {
		status := main
		status.Subresource = "status"
		out.status = &status
	}
	if v.scale != nil {
		scale := scaleScope(main)
		out.scale = &scale
	}
	return out
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
func equivalents(k *kind.Kind) runtime.EquivalentResourceRegistry {
	registry := runtime.NewEquivalentResourceRegistry()
	for _, v := range k.Versions {
		resource := v.GroupVersion().WithResource(k.GroupResource().Resource)
		registry.RegisterKindFor(resource, "", v.GroupVersionKind())
		if v.Compiled.HasStatus() {
			registry.RegisterKindFor(resource, "status", v.GroupVersionKind())
		}
		if v.Compiled.Scale() != nil {
			registry.RegisterKindFor(resource, "scale", autoscalingv1.SchemeGroupVersion.WithKind("Scale"))
		}
	}
	return registry
}

// deprecation returns the warnings for clients that use a deprecated version.
func deprecation(v *Version) []string {
	if !v.Spec.Deprecated {
		return nil
	}
	if v.Spec.DeprecationWarning != nil {
		return []string{*v.Spec.DeprecationWarning}
	}
	kind := v.resource.Kind.Kind
	message := fmt.Sprintf("%s %s is deprecated", v.GroupVersion(), kind)
	best := ""
	for name, other := range v.resource.Versions {
		newer := other.Spec.Served && !other.Spec.Deprecated && kubeversion.CompareKubeAwareVersionStrings(v.Name, name) < 0
		if newer && (best == "" || kubeversion.CompareKubeAwareVersionStrings(best, name) < 0) {
			best = name
		}
	}
	if best != "" {
		message += fmt.Sprintf("; use %s/%s %s", v.resource.Group, best, kind)
	}
	return []string{message}
}
