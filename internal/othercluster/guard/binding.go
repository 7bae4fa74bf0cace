package guard

import (
	"context"
	"fmt"
	"maps"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/othercluster/admissionreview"
	"holdfast.dev/holdfast/internal/policy"
)

// ofPod returns the review of a Binding as one of pods/binding. The core resource bindings is another way to write it. Other reviews
// stay as they are.
func ofPod(request *admissionv1.AdmissionRequest) *admissionv1.AdmissionRequest {
	bindings := metav1.GroupVersionResource{Version: "v1", Resource: "bindings"}
	if request.Resource != bindings {
		return request
	}
	out := *request
	out.Resource, out.SubResource = metav1.GroupVersionResource{Version: "v1", Resource: "pods"}, policy.BindingSubresource
	if obj, err := admissionreview.Object(request.Object); err == nil && out.Name == "" {
		out.Name = obj.GetName()
	}
	return &out
}

// isBinding reports whether a review is of the creation of a Binding, which sets the node of a pod.
func isBinding(request *admissionv1.AdmissionRequest) bool {
	return request.Operation == admissionv1.Create && request.Resource.Group == "" && request.Resource.Resource == "pods" &&
		request.SubResource == policy.BindingSubresource
}

// bound returns the update that the API server makes of a Binding: it sets the node of the pod, and adds the annotations and labels
// of the Binding.
func (j *judge) bound(ctx context.Context, request *admissionv1.AdmissionRequest) (*policy.Update, error) {
	binding, err := admissionreview.Object(request.Object)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("review: request.object: %v", err))
	}
	pod, err := j.read(ctx, schema.GroupVersionResource(request.Resource), request.Namespace, request.Name)
	if err != nil {
		return nil, err
	}
	node, _, _ := unstructured.NestedString(binding.Object, "target", "name")
	out := pod.DeepCopy()
	if err := unstructured.SetNestedField(out.Object, node, "spec", "nodeName"); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if more := binding.GetAnnotations(); len(more) > 0 {
		out.SetAnnotations(merge(out.GetAnnotations(), more))
	}
	if more := binding.GetLabels(); len(more) > 0 {
		out.SetLabels(merge(out.GetLabels(), more))
	}
	return &policy.Update{
		Version: request.Resource.Version, Namespace: request.Namespace, Name: request.Name, OldObj: pod.Object, NewObj: out.Object,
		Stored: func(context.Context, string) (map[string]any, error) { return pod.Object, nil },
	}, nil
}

func merge(into, from map[string]string) map[string]string {
	if into == nil {
		into = map[string]string{}
	}
	maps.Copy(into, from)
	return into
}
