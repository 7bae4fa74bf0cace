// Package admissionreview serves the reviews that an API server sends to an admission webhook
// (AdmissionReview of admission.k8s.io/v1).
//
//	mux.Handle("POST /validate", admissionreview.Handler(answer))
//
// The function answer decides about one request. It returns Denied for an error.
package admissionreview

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// maxBytes bounds the size of a review. A review holds an object twice, old and new.
const maxBytes = 16 << 20

// Answer decides about one request.
type Answer func(context.Context, *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse

// Handler returns a handler that answers reviews. Anything but a review gets 400.
func Handler(answer Answer) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, req *http.Request) {
		review, err := read(out, req)
		if err != nil {
			http.Error(out, err.Error(), http.StatusBadRequest)
			return
		}
		response := answer(req.Context(), review.Request)
		response.UID = review.Request.UID
		review.Request, review.Response = nil, response
		out.Header().Set("Content-Type", "application/json")
		// Encoding fails only if the API server closed the connection. It then treats the call
		// as failed.
		_ = json.NewEncoder(out).Encode(review)
	})
}

func read(out http.ResponseWriter, req *http.Request) (*admissionv1.AdmissionReview, error) {
	if kind, _, err := mime.ParseMediaType(req.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, fmt.Errorf("content type %q: must be application/json", req.Header.Get("Content-Type"))
	}
	review := &admissionv1.AdmissionReview{}
	if err := json.NewDecoder(http.MaxBytesReader(out, req.Body, maxBytes)).Decode(review); err != nil {
		return nil, fmt.Errorf("review: %w", err)
	}
	if review.GroupVersionKind() != admissionv1.SchemeGroupVersion.WithKind("AdmissionReview") {
		return nil, fmt.Errorf("review: kind %s: must be AdmissionReview of %s", review.GroupVersionKind(), admissionv1.SchemeGroupVersion)
	}
	if review.Request == nil {
		return nil, errors.New("review: request: required")
	}
	return review, nil
}

// Object decodes an object of a review.
func Object(raw runtime.RawExtension) (*unstructured.Unstructured, error) {
	if len(raw.Raw) == 0 {
		return nil, errors.New("required")
	}
	read := &unstructured.Unstructured{}
	return read, read.UnmarshalJSON(raw.Raw)
}

// Denied returns a response that refuses the write, with the status of an API error. For any
// other error the status is InternalError, as in our own server.
func Denied(err error) *admissionv1.AdmissionResponse {
	var known apierrors.APIStatus
	if !errors.As(err, &known) {
		known = apierrors.NewInternalError(err)
	}
	status := known.Status()
	status.TypeMeta = metav1.TypeMeta{}
	return &admissionv1.AdmissionResponse{Result: &status}
}
