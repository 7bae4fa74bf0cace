package keep

import (
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Annotation keeps the object that has it from being deleted.
const Annotation = "holdfast.dev/keep"

// The values of the annotation.
const (
	// Always keeps an object as long as it has the annotation.
	Always = "always"
	// WhileObjects keeps a namespace or a definition while it holds objects.
	WhileObjects = "while-objects"
)

var (
	namespaces  = corev1.Resource("namespaces")
	definitions = schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}
)

// unkeepable are the resources that cannot have the annotation. Controllers and nodes delete their objects all the time.
var unkeepable = map[schema.GroupResource]bool{
	corev1.Resource("pods"):           true,
	corev1.Resource("bindings"):       true, // the annotations of a Binding become those of its pod
	corev1.Resource("events"):         true,
	eventsv1.Resource("events"):       true,
	coordinationv1.Resource("leases"): true,

	discoveryv1.Resource("endpointslices"): true,
}

// path is the place of the annotation, in the form of field errors.
var path = field.NewPath("metadata", "annotations").Key(Annotation)

// Value returns the value of the annotation, and whether the object has the annotation. It does not copy the annotations.
func Value(obj runtime.Object) (string, bool) {
	switch obj := obj.(type) {
	case nil:
		return "", false
	case interface{ UnstructuredContent() map[string]any }:
		metadata, _ := obj.UnstructuredContent()["metadata"].(map[string]any)
		annotations, _ := metadata["annotations"].(map[string]any)
		value, found := annotations[Annotation].(string)
		return value, found
	case metav1.Object:
		value, found := obj.GetAnnotations()[Annotation]
		return value, found
	}
	return "", false
}

// validate returns an error if objects of a resource cannot have the annotation with this value.
func validate(resource schema.GroupResource, value string) field.ErrorList {
	switch {
	case unkeepable[resource]:
		return field.ErrorList{field.Forbidden(path, "objects of "+resource.String()+" cannot be kept")}
	case value == Always, value == WhileObjects && holdsObjects(resource):
		return nil
	}
	supported := []string{Always}
	if holdsObjects(resource) {
		supported = append(supported, WhileObjects)
	}
	return field.ErrorList{field.NotSupported(path, value, supported)}
}

func holdsObjects(resource schema.GroupResource) bool {
	return resource == namespaces || resource == definitions
}

// InForce returns the value of the annotation if it keeps the object, and "" otherwise. The annotation has no effect on a ReplicaSet
// of a Deployment: the controller of Deployments copies the annotations of the Deployment to it.
func InForce(resource schema.GroupResource, obj runtime.Object) string {
	value, found := Value(obj)
	if !found || len(validate(resource, value)) > 0 {
		return ""
	}
	if resource == appsv1.Resource("replicasets") {
		if set, ok := obj.(metav1.Object); ok {
			if owner := metav1.GetControllerOf(set); owner != nil && owner.Kind == "Deployment" {
				return ""
			}
		}
	}
	return value
}
