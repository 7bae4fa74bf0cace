package enforcement

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
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/operator/api"
)

// The paths of the webhook: the one completes Instances, the other confirms them
// and keeps OperatorVersions.
const (
	MutatePath   = "/mutate"
	ValidatePath = "/validate"
)

// maxReview bounds a review: an object as large as a server takes, twice.
const maxReview = 16 << 20

// NewWebhook answers reviews of admission.k8s.io/v1 by the OperatorVersions that
// versions finds. It writes nothing, so that a dry run is like any other review.
func NewWebhook(versions Versions) http.Handler {
	j := judge{versions}
	mux := http.NewServeMux()
	mux.Handle("POST "+MutatePath, door(j.mutate))
	mux.Handle("POST "+ValidatePath, door(j.validate))
	return mux
}

// mutate judges a write that may be changed, and says how.
func (j judge) mutate(ctx context.Context, w write) ([]operation, error) {
	if w.resource != instances {
		return nil, nil
	}
	before := w.newObj.DeepCopy()
	dropNulls(w.newObj)
	if err := j.complete(ctx, w); err != nil {
		return nil, err
	}
	return patch(before, w.newObj), nil
}

// validate judges a write as it is stored if nobody refuses it.
func (j judge) validate(ctx context.Context, w write) ([]operation, error) {
	switch w.resource {
	case instances:
		return nil, j.confirm(ctx, w)
	case versions:
		return nil, j.keep(w)
	}
	return nil, nil
}

// dropNulls takes a value that is null for one that is removed, as our own server
// does before it asks anybody.
func dropNulls(obj *unstructured.Unstructured) {
	values := content(obj, []string{"spec", "parameters"})
	for name, value := range values {
		if value == nil {
			delete(values, name)
		}
	}
}

// door lets reviews in and answers out.
type door func(context.Context, write) ([]operation, error)

// ServeHTTP implements http.Handler.
func (d door) ServeHTTP(out http.ResponseWriter, req *http.Request) {
	review, err := readReview(out, req)
	if err != nil {
		http.Error(out, err.Error(), http.StatusBadRequest)
		return
	}
	answer := d.answer(req.Context(), review.Request)
	answer.UID = review.Request.UID
	review.Request, review.Response = nil, answer
	out.Header().Set("Content-Type", "application/json")
	// Who went away before the answer asks again.
	_ = json.NewEncoder(out).Encode(review)
}

func readReview(out http.ResponseWriter, req *http.Request) (*admissionv1.AdmissionReview, error) {
	if kind, _, err := mime.ParseMediaType(req.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, fmt.Errorf("content type %q: must be application/json", req.Header.Get("Content-Type"))
	}
	review := &admissionv1.AdmissionReview{}
	if err := json.NewDecoder(http.MaxBytesReader(out, req.Body, maxReview)).Decode(review); err != nil {
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

// answer is that of one request.
func (d door) answer(ctx context.Context, request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	if request.SubResource != "" || request.Operation != admissionv1.Create && request.Operation != admissionv1.Update {
		return &admissionv1.AdmissionResponse{Allowed: true}
	}
	w, err := reviewed(request)
	if err != nil {
		return denied(apierrors.NewBadRequest(err.Error()))
	}
	operations, err := d(ctx, w)
	if err != nil {
		return denied(err)
	}
	answer := &admissionv1.AdmissionResponse{Allowed: true}
	if len(operations) > 0 {
		if answer.Patch, err = json.Marshal(operations); err != nil {
			return denied(err)
		}
		answer.PatchType = new(admissionv1.PatchTypeJSONPatch)
	}
	return answer
}

// reviewed is the write that a request is about.
func reviewed(request *admissionv1.AdmissionRequest) (write, error) {
	w := write{
		kind:      schema.GroupKind{Group: request.Kind.Group, Kind: request.Kind.Kind},
		resource:  schema.GroupResource{Group: request.Resource.Group, Resource: request.Resource.Resource},
		namespace: request.Namespace, name: request.Name,
	}
	var err error
	if w.newObj, err = object(request.Object); err != nil {
		return w, fmt.Errorf("review: request.object: %w", err)
	}
	if request.Operation == admissionv1.Update {
		if w.oldObj, err = object(request.OldObject); err != nil {
			return w, fmt.Errorf("review: request.oldObject: %w", err)
		}
	}
	by := request.UserInfo
	w.requester = api.Requester{Username: by.Username, UID: by.UID, Groups: by.Groups}
	for name, values := range by.Extra {
		if w.requester.Extra == nil {
			w.requester.Extra = map[string][]string{}
		}
		w.requester.Extra[name] = values
	}
	return w, nil
}

func object(raw runtime.RawExtension) (*unstructured.Unstructured, error) {
	if len(raw.Raw) == 0 {
		return nil, errors.New("required")
	}
	read := &unstructured.Unstructured{}
	return read, read.UnmarshalJSON(raw.Raw)
}

// denied refuses with the status that our own server answers.
func denied(err error) *admissionv1.AdmissionResponse {
	var known apierrors.APIStatus
	if !errors.As(err, &known) {
		known = apierrors.NewInternalError(err)
	}
	status := known.Status()
	status.TypeMeta = metav1.TypeMeta{}
	return &admissionv1.AdmissionResponse{Result: &status}
}
