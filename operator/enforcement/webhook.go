package enforcement

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/admissionreview"
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

// NewWebhook returns a handler that answers reviews of admission.k8s.io/v1. Its only side
// effect is the record of the user that deletes an Instance. A dry run leaves none.
func NewWebhook(config Config) http.Handler {
	j := judge{config}
	mux := http.NewServeMux()
	mux.Handle("POST "+MutatePath, admissionreview.Handler(verdict(j.mutate).answer))
	mux.Handle("POST "+ValidatePath, admissionreview.Handler(verdict(j.validate).answer))
	mux.Handle("POST "+DeletePath, admissionreview.Handler(verdict(j.delete).answer))
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

// verdict judges a write. It returns the changes that the API server makes to the object, or an
// error that refuses the write.
type verdict func(context.Context, write) ([]operation, error)

// answer judges one request and returns the response.
func (v verdict) answer(ctx context.Context, request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	if request.SubResource != "" || request.Operation == admissionv1.Connect {
		return &admissionv1.AdmissionResponse{Allowed: true}
	}
	w, err := requestedWrite(request)
	if err != nil {
		return admissionreview.Denied(apierrors.NewBadRequest(err.Error()))
	}
	operations, err := v(ctx, w)
	if err != nil {
		return admissionreview.Denied(err)
	}
	answer := &admissionv1.AdmissionResponse{Allowed: true}
	if len(operations) > 0 {
		if answer.Patch, err = json.Marshal(operations); err != nil {
			return admissionreview.Denied(err)
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
		if w.newObj, err = admissionreview.Object(request.Object); err != nil {
			return w, fmt.Errorf("review: request.object: %w", err)
		}
	}
	if request.Operation != admissionv1.Create {
		if w.oldObj, err = admissionreview.Object(request.OldObject); err != nil {
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
