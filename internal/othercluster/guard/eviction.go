package guard

import (
	"context"
	"encoding/json"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/connection"
	"holdfast.dev/holdfast/internal/othercluster/admissionreview"
)

// evictionSubresource is the subresource of pods whose creation deletes the pod. An API server does not send a review of this deletion.
const evictionSubresource = "eviction"

// isEviction reports whether a review is of an eviction.
func isEviction(request *admissionv1.AdmissionRequest) bool {
	return request.Operation == admissionv1.Create && request.Resource.Group == "" && request.Resource.Resource == "pods" &&
		request.SubResource == evictionSubresource
}

// asDeletion returns the review of an eviction as one of the deletion of the pod, nil if there is no such pod. The eviction may say itself
// that it is a dry run.
func asDeletion(ctx context.Context, server *connection.Connection, request *admissionv1.AdmissionRequest) (*admissionv1.AdmissionRequest, error) {
	eviction, err := admissionreview.Object(request.Object)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("review: request.object: %v", err))
	}
	pods := schema.GroupVersionResource(request.Resource)
	pod, err := server.Dynamic.Resource(pods).Namespace(request.Namespace).Get(ctx, request.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case apierrors.IsForbidden(err):
		return nil, mayNot("get", pods.GroupResource(), err)
	case err != nil:
		return nil, err
	}
	text, err := json.Marshal(pod)
	if err != nil {
		return nil, err
	}
	out := *request
	out.Operation, out.SubResource, out.Kind = admissionv1.Delete, "", metav1.GroupVersionKind(pods.GroupVersion().WithKind("Pod"))
	out.Object, out.OldObject = runtime.RawExtension{}, runtime.RawExtension{Raw: text}
	if dryRun, _, _ := unstructured.NestedStringSlice(eviction.Object, "deleteOptions", "dryRun"); len(dryRun) > 0 {
		out.DryRun = new(true)
	}
	return &out, nil
}
