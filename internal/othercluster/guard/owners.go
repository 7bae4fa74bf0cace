package guard

import (
	"context"
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/native/judgement"
	"holdfast.dev/holdfast/internal/othercluster/admissionreview"
	"holdfast.dev/holdfast/ownership"
)

// OwnershipPath is the path of the webhook for field ownership, before the token.
const OwnershipPath = "/ownership"

// ownershipCacheBytes bounds the cache of decoded last-applied configurations, by the length of their texts.
const ownershipCacheBytes = 4 << 20

// owners answers reviews about fields that kubectl apply and server-side apply own: warnings, and refusals of
// edits.
type owners struct {
	mode  judgement.Mode
	kinds *kinds
	read  readFunc
	// mayGet reports whether the user of a review may get the object.
	mayGet func(ctx context.Context, request *admissionv1.AdmissionRequest) bool
	cache  *ownership.Cache
	notes  *judgement.Notes
}

// answer decides about one review. An error is a note in a warning: ownership helps users, and stops no write
// that it cannot judge.
func (o *owners) answer(ctx context.Context, request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	allowed := &admissionv1.AdmissionResponse{Allowed: true}
	writer, err := writerOf(request)
	if err == nil && (request.Operation != admissionv1.Update || ownership.ParseWriter(writer).Act == ownership.Controller) {
		return allowed
	}
	var write ownership.Write
	if err == nil {
		write, err = o.write(ctx, request, writer)
	}
	switch {
	case apierrors.IsConflict(err):
		return allowed // the API server reads the object again, and asks again
	case err != nil:
		verdict := ownership.Verdict{
			Resource: ownership.ResourceOf(request.Kind.Group, request.Kind.Kind, request.Namespace, request.Name), Note: err.Error(),
		}
		allowed.Warnings = verdict.Warnings()
		return allowed
	}
	verdict := judgement.Judge(write, o.cache)
	newObj := &unstructured.Unstructured{Object: write.New}
	configuration := newObj.GetAnnotations()[ownership.LastApplied]
	if verdict.Note != "" && configuration != "" && !o.notes.First(newObj.GetUID(), configuration) {
		verdict.Note = ""
	}
	if verdict.ShowsValues() && !o.mayGet(ctx, request) {
		verdict.Hide()
	}
	if refusals := verdict.Refusals(); o.mode == judgement.EnforceEdit && len(refusals) > 0 {
		return refuseEdit(request, newObj, refusals)
	}
	allowed.Warnings = verdict.Warnings()
	return allowed
}

// writerOf returns what a review says about the writer.
func writerOf(request *admissionv1.AdmissionRequest) (ownership.Request, error) {
	var options metav1.UpdateOptions
	if len(request.Options.Raw) > 0 {
		if err := json.Unmarshal(request.Options.Raw, &options); err != nil {
			return ownership.Request{}, fmt.Errorf("review: request.options: %w", err)
		}
	}
	return ownership.Request{FieldManager: options.FieldManager, User: request.UserInfo.Username}, nil
}

// write returns the write of a review for package ownership.
func (o *owners) write(ctx context.Context, request *admissionv1.AdmissionRequest, by ownership.Request) (ownership.Write, error) {
	oldObj, err := admissionreview.Object(request.OldObject)
	if err != nil {
		return ownership.Write{}, fmt.Errorf("review: request.oldObject: %w", err)
	}
	newObj, err := admissionreview.Object(request.Object)
	if err != nil {
		return ownership.Write{}, fmt.Errorf("review: request.object: %w", err)
	}
	by = by.Seen(oldObj.GetManagedFields(), newObj.GetManagedFields())
	if request.SubResource == "scale" {
		if by.FieldManager == "" && by.UserAgent == "" {
			by.UserAgent = request.SubResource // kubectl scale sends no field manager, and a Scale has no managed fields
		}
		in := schema.GroupVersionResource(request.Resource)
		parent, err := o.read.at(ctx, in, request, oldObj.GetResourceVersion())
		if err != nil {
			return ownership.Write{}, err
		}
		if newObj, err = scaledObject(parent, newObj, o.kinds.replicas(ctx, in)); err != nil {
			return ownership.Write{}, err
		}
		oldObj = parent
	}
	write := ownership.Write{
		LiveManagers: oldObj.GetManagedFields(), NewManagers: newObj.GetManagedFields(), Writer: ownership.ParseWriter(by),
	}
	write.Type = o.kinds.of(ctx, oldObj.GroupVersionKind())
	if write.Live, err = o.kinds.stored(write.Type, oldObj); err != nil {
		return ownership.Write{}, err
	}
	write.New, err = o.kinds.stored(write.Type, newObj)
	return write, err
}

// refuseEdit returns the answer of our server to an edit of fields with an owner. kubectl edit opens the editor
// again with the causes.
func refuseEdit(
	request *admissionv1.AdmissionRequest, obj *unstructured.Unstructured, refusals []ownership.Refusal,
) *admissionv1.AdmissionResponse {
	var errs field.ErrorList
	fields := make([]string, 0, len(refusals))
	for _, refusal := range refusals {
		errs = append(errs, field.Forbidden(field.NewPath(refusal.Field), refusal.Message))
		fields = append(fields, refusal.Field)
	}
	klog.InfoS("refused an edit", "resource", request.Resource.String(), "namespace", request.Namespace, "name", request.Name,
		"user", request.UserInfo.Username, "fields", strings.Join(fields, " "))
	return admissionreview.Denied(apierrors.NewInvalid(obj.GroupVersionKind().GroupKind(), obj.GetName(), errs))
}
