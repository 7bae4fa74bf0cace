package manager

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/warning"

	"holdfast.dev/holdfast/internal/admission/instance"
	"holdfast.dev/holdfast/internal/operator/authorship"
	"holdfast.dev/holdfast/internal/othercluster/admissionreview"
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
func NewWebhook(config instance.Config) http.Handler {
	j := instance.Judge{Config: config}
	mux := http.NewServeMux()
	mux.Handle("POST "+MutatePath, admissionreview.Handler(verdict(j.Mutate).answer))
	mux.Handle("POST "+ValidatePath, admissionreview.Handler(verdict(j.Validate).answer))
	mux.Handle("POST "+DeletePath, admissionreview.Handler(verdict(j.Delete).answer))
	return mux
}

// verdict judges a write. It returns the changes that the API server makes to the object, or an
// error that refuses the write.
type verdict func(context.Context, instance.Write) ([]instance.Operation, error)

// answer judges one request and returns the response.
func (v verdict) answer(ctx context.Context, request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	if request.SubResource != "" || request.Operation == admissionv1.Connect {
		return &admissionv1.AdmissionResponse{Allowed: true}
	}
	w, err := requestedWrite(request)
	if err != nil {
		return admissionreview.Denied(apierrors.NewBadRequest(err.Error()))
	}
	var warned warnings
	operations, err := v(warning.WithWarningRecorder(ctx, &warned), w)
	if err != nil {
		return admissionreview.Denied(err)
	}
	answer := &admissionv1.AdmissionResponse{Allowed: true, Warnings: warned}
	if len(operations) > 0 {
		if answer.Patch, err = json.Marshal(operations); err != nil {
			return admissionreview.Denied(err)
		}
		answer.PatchType = new(admissionv1.PatchTypeJSONPatch)
	}
	return answer
}

// warnings collects the warnings about a write.
type warnings []string

// AddWarning implements warning.Recorder.
func (w *warnings) AddWarning(_, text string) { *w = append(*w, text) }

// requestedWrite converts the request of a review.
func requestedWrite(request *admissionv1.AdmissionRequest) (instance.Write, error) {
	w := instance.Write{
		Kind:      schema.GroupKind{Group: request.Kind.Group, Kind: request.Kind.Kind},
		Resource:  schema.GroupResource{Group: request.Resource.Group, Resource: request.Resource.Resource},
		Namespace: request.Namespace, Name: request.Name, DryRun: request.DryRun != nil && *request.DryRun,
	}
	var err error
	if request.Operation != admissionv1.Delete {
		if w.New, err = admissionreview.Object(request.Object); err != nil {
			return w, fmt.Errorf("review: request.object: %w", err)
		}
	}
	if request.Operation != admissionv1.Create {
		if w.Old, err = admissionreview.Object(request.OldObject); err != nil {
			return w, fmt.Errorf("review: request.oldObject: %w", err)
		}
	}
	by := request.UserInfo
	w.Requester = authorship.User{Username: by.Username, UID: by.UID, Groups: by.Groups}
	for name, values := range by.Extra {
		if w.Requester.Extra == nil {
			w.Requester.Extra = map[string][]string{}
		}
		w.Requester.Extra[name] = values
	}
	return w, nil
}
