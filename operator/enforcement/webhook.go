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

	"holdfast.dev/holdfast/operator/authorship"
)

const (
	// MutatePath is the path of the mutating webhook, which completes Instances.
	MutatePath = "/mutate"
	// ValidatePath is the path of the validating webhook, which confirms Instances and
	// refuses changes of OperatorVersions.
	ValidatePath = "/validate"
	// DeletePath is the path of the validating webhook for deletes, which records the user
	// that deletes an Instance and refuses to delete an OperatorVersion in use.
	DeletePath = "/delete"
)

// maxReview bounds the size of a review in bytes. A review holds an object twice, old
// and new.
const maxReview = 16 << 20

// NewWebhook returns a handler that answers reviews of admission.k8s.io/v1. Its only side
// effect is the record of the user that deletes an Instance. A dry run leaves none.
func NewWebhook(config Config) http.Handler {
	j := judge{config}
	mux := http.NewServeMux()
	mux.Handle("POST "+MutatePath, reviewHandler(j.mutate))
	mux.Handle("POST "+ValidatePath, reviewHandler(j.validate))
	mux.Handle("POST "+DeletePath, reviewHandler(j.delete))
	return mux
}

// mutate judges a write and returns the patch that completes it.
func (j judge) mutate(ctx context.Context, w write) ([]operation, error) {
	if w.resource != instances || w.newObj == nil {
		return nil, nil
	}
	before := w.newObj.DeepCopy()
	dropNulls(w.newObj)
	if err := j.complete(ctx, w); err != nil {
		return nil, err
	}
	return patch(before, w.newObj), nil
}

// validate judges a write in its final form, after all mutating steps.
func (j judge) validate(ctx context.Context, w write) ([]operation, error) {
	switch {
	case w.newObj == nil:
		return nil, nil
	case w.resource == instances:
		return nil, j.confirm(ctx, w)
	case w.resource == versions:
		return nil, j.refuseSpecChange(w)
	}
	return nil, nil
}

// delete records the user that deletes an Instance, and refuses to delete an OperatorVersion
// in use.
func (j judge) delete(ctx context.Context, w write) ([]operation, error) {
	switch {
	case w.newObj != nil:
		return nil, nil
	case w.resource == versions:
		return nil, j.refuseDeletion(ctx, w.oldObj, w.requester)
	case w.resource == instances && !w.dryRun:
		return nil, j.recordDeletion(ctx, w.oldObj, w.requester)
	}
	return nil, nil
}

// dropNulls removes parameters with the value null. Our own server drops nulls before
// admission runs; other servers may not.
func dropNulls(obj *unstructured.Unstructured) {
	values := content(obj, []string{"spec", "parameters"})
	for name, value := range values {
		if value == nil {
			delete(values, name)
		}
	}
}

// reviewHandler is a function that judges a write, as an HTTP handler. The handler decodes
// the review, calls the function, and encodes the returned patch or error as the response.
type reviewHandler func(context.Context, write) ([]operation, error)

// ServeHTTP implements http.Handler.
func (h reviewHandler) ServeHTTP(out http.ResponseWriter, req *http.Request) {
	review, err := readReview(out, req)
	if err != nil {
		http.Error(out, err.Error(), http.StatusBadRequest)
		return
	}
	answer := h.answer(req.Context(), review.Request)
	answer.UID = review.Request.UID
	review.Request, review.Response = nil, answer
	out.Header().Set("Content-Type", "application/json")
	// Encoding fails only if the API server closed the connection. It then treats the
	// call as failed.
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

// answer judges one request and returns the response.
func (h reviewHandler) answer(ctx context.Context, request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	if request.SubResource != "" || request.Operation == admissionv1.Connect {
		return &admissionv1.AdmissionResponse{Allowed: true}
	}
	w, err := requestedWrite(request)
	if err != nil {
		return denied(apierrors.NewBadRequest(err.Error()))
	}
	operations, err := h(ctx, w)
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

// requestedWrite converts the request of a review.
func requestedWrite(request *admissionv1.AdmissionRequest) (write, error) {
	w := write{
		kind:      schema.GroupKind{Group: request.Kind.Group, Kind: request.Kind.Kind},
		resource:  schema.GroupResource{Group: request.Resource.Group, Resource: request.Resource.Resource},
		namespace: request.Namespace, name: request.Name, dryRun: request.DryRun != nil && *request.DryRun,
	}
	var err error
	if request.Operation != admissionv1.Delete {
		if w.newObj, err = object(request.Object); err != nil {
			return w, fmt.Errorf("review: request.object: %w", err)
		}
	}
	if request.Operation != admissionv1.Create {
		if w.oldObj, err = object(request.OldObject); err != nil {
			return w, fmt.Errorf("review: request.oldObject: %w", err)
		}
	}
	by := request.UserInfo
	w.requester = authorship.User{Username: by.Username, UID: by.UID, Groups: by.Groups}
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

// denied returns a response that refuses the write, with the status of an API error. For
// any other error the status is InternalError, as in our own server.
func denied(err error) *admissionv1.AdmissionResponse {
	var known apierrors.APIStatus
	if !errors.As(err, &known) {
		known = apierrors.NewInternalError(err)
	}
	status := known.Status()
	status.TypeMeta = metav1.TypeMeta{}
	return &admissionv1.AdmissionResponse{Result: &status}
}
