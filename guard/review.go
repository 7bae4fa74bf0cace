package guard

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// ImmutablePath is the path of the webhook for immutable fields.
const ImmutablePath = "/immutable"

// maxReview bounds the size of a review in bytes. A review holds an object twice, old and new.
const maxReview = 16 << 20

// handler answers reviews of admission.k8s.io/v1.
func (j *judge) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+ImmutablePath, func(out http.ResponseWriter, req *http.Request) {
		review, err := readReview(out, req)
		if err != nil {
			http.Error(out, err.Error(), http.StatusBadRequest)
			return
		}
		began := time.Now()
		answer := j.answer(req.Context(), review.Request)
		j.meters.observe(review.Request, answer, time.Since(began))
		answer.UID = review.Request.UID
		review.Request, review.Response = nil, answer
		out.Header().Set("Content-Type", "application/json")
		// Encoding fails only if the API server closed the connection. It then treats the call as
		// failed.
		_ = json.NewEncoder(out).Encode(review)
	})
	return mux
}

func readReview(out http.ResponseWriter, req *http.Request) (*admissionv1.AdmissionReview, error) {
	if kind, _, err := mime.ParseMediaType(req.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, fmt.Errorf("content type %q: must be application/json", req.Header.Get("Content-Type"))
	}
	review := &admissionv1.AdmissionReview{}
	if err := json.NewDecoder(http.MaxBytesReader(out, req.Body, maxReview)).Decode(review); err != nil {
		return nil, fmt.Errorf("review: %w", err)
	}
	if review.GroupVersionKind() != admissionv1.SchemeGroupVersion.WithKind("AdmissionReview") || review.Request == nil {
		return nil, fmt.Errorf("review: must be an AdmissionReview of %s with a request", admissionv1.SchemeGroupVersion)
	}
	return review, nil
}

// object decodes an object of a review.
func object(raw runtime.RawExtension) (*unstructured.Unstructured, error) {
	if len(raw.Raw) == 0 {
		return nil, errors.New("required")
	}
	read := &unstructured.Unstructured{}
	return read, read.UnmarshalJSON(raw.Raw)
}

// denied returns an answer that refuses the write because of an error. An error that is not from an API
// server is an InternalError, as in our own server.
func denied(err error) *admissionv1.AdmissionResponse {
	var known apierrors.APIStatus
	if !errors.As(err, &known) {
		known = apierrors.NewInternalError(err)
	}
	status := known.Status()
	status.TypeMeta = metav1.TypeMeta{}
	return &admissionv1.AdmissionResponse{Result: &status}
}
