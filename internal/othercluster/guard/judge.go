package guard

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/definition/refusal"
	"holdfast.dev/holdfast/internal/othercluster/admissionreview"
	"holdfast.dev/holdfast/internal/policy"
)

// judge decides about reviews.
type judge struct {
	// resource returns the rules of a resource, nil if it is not guarded.
	resource func(ctx context.Context, name schema.GroupResource) (*policy.Resource, error)
	read     readFunc
	// namespace returns the labels of a namespace.
	namespace func(name string) (labels.Set, error)
	// mayGet reports whether the user of a review may get the object.
	mayGet func(ctx context.Context, request *admissionv1.AdmissionRequest) bool
	// may reports whether the user has a verb on the object.
	may rightsFunc
	// table returns the current rules.
	table func() *policy.Table
	// live is the webhook configuration.
	live *observed
	// status is the HTTP status of refusals, 400 or 422.
	status int
	// events records Events about policies. It may be nil.
	events *events
	// refusals are written into the report. It may be nil.
	refusals *refusals
}

// answer decides about one review.
func (j *judge) answer(ctx context.Context, request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	allowed := &admissionv1.AdmissionResponse{Allowed: true}
	request = ofPod(request)
	if request.Operation != admissionv1.Update && !isBinding(request) {
		return allowed
	}
	name := resourceOf(request)
	r, err := j.resource(ctx, name)
	if err != nil {
		return admissionreview.Denied(err)
	}
	if r == nil && name != (schema.GroupResource{Resource: "namespaces"}) {
		return allowed
	}
	u, err := j.update(ctx, r, request)
	if err != nil {
		return admissionreview.Denied(err)
	}
	if policy.OnlyElection(name, u.OldObj, u.NewObj) {
		return allowed
	}
	was, is := &unstructured.Unstructured{Object: u.OldObj}, &unstructured.Unstructured{Object: u.NewObj}
	left, warnings := j.selection(ctx, request, was, is)
	allowed.Warnings = warnings
	if left == nil {
		if err := j.enter(ctx, request, was.GetLabels(), is.GetLabels()); err != nil {
			return admissionreview.Denied(err)
		}
	}
	if r == nil {
		return cmp.Or(left, allowed)
	}
	u.May = func(verb string) bool { return j.may(ctx, request, verb) }
	found, err := r.Check(ctx, u, j.namespace)
	if err != nil && len(found.Refused) == 0 {
		return admissionreview.Denied(err)
	}
	j.events.record(request, found.Hits)
	j.refusals.add(request, found)
	answer := refusal.Answer{Kind: r.Kind, Name: u.Name, Code: j.status}
	if len(found.Refused)+len(found.Allowed)+len(found.Warned) > 0 {
		answer.UID = (&unstructured.Unstructured{Object: u.OldObj}).GetUID()
		answer.Values = j.mayGet(ctx, request)
	}
	if len(found.Warned) > 0 {
		for _, cause := range answer.Status(found.Warned).Details.Causes {
			allowed.Warnings = append(allowed.Warnings, cause.Field+": "+cause.Message)
		}
	}
	if len(found.Refused) == 0 {
		override(allowed, answer, found.Allowed)
		return cmp.Or(left, allowed)
	}
	logRefusal(request, found.Refused)
	status := answer.Status(found.Refused)
	return &admissionv1.AdmissionResponse{Result: &status, Warnings: allowed.Warnings}
}

// overrideKey is the key of the audit annotation about a right. The API server puts the name of the webhook before it.
const overrideKey = "override"

// override adds warnings, and an audit annotation, about changes that the right of the user allows.
func override(allowed *admissionv1.AdmissionResponse, answer refusal.Answer, found []refusal.Violation) {
	if len(found) == 0 {
		return
	}
	var fields []string
	for _, one := range found {
		allowed.Warnings = append(allowed.Warnings, answer.Override(one))
		fields = append(fields, one.Path.String()+" "+one.Mark.Unless)
	}
	allowed.AuditAnnotations = map[string]string{overrideKey: strings.Join(fields, ", ")}
}

// update returns the write of a review. A review of the scale has Scales, so the object is read, and
// the update is the one that the API server makes of it.
func (j *judge) update(ctx context.Context, r *policy.Resource, request *admissionv1.AdmissionRequest) (*policy.Update, error) {
	if isBinding(request) {
		return j.bound(ctx, request)
	}
	oldObj, err := admissionreview.Object(request.OldObject)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("review: request.oldObject: %v", err))
	}
	newObj, err := admissionreview.Object(request.Object)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("review: request.object: %v", err))
	}
	u := &policy.Update{Version: request.Resource.Version, Namespace: request.Namespace, Name: request.Name}
	at := schema.GroupVersionResource(request.Resource)
	version := oldObj.GetResourceVersion()
	u.Stored = func(ctx context.Context, name string) (map[string]any, error) {
		in := at.GroupResource().WithVersion(name)
		found, err := j.read.at(ctx, in, request, version)
		if err != nil {
			return nil, err
		}
		return found.Object, nil
	}
	if request.SubResource != "scale" {
		u.OldObj, u.NewObj = oldObj.Object, newObj.Object
		return u, nil
	}
	parent, err := j.read.at(ctx, at, request, version)
	if err != nil {
		return nil, err
	}
	scaled, err := scaledObject(parent, newObj, r.Replicas[at.Version])
	if err != nil {
		return nil, err
	}
	u.OldObj, u.NewObj = parent.Object, scaled.Object
	return u, nil
}

// logRefusal logs one line, without values.
func logRefusal(request *admissionv1.AdmissionRequest, refused []refusal.Violation) {
	var fields []string
	for _, one := range refused {
		fields = append(fields, one.Path.String())
	}
	klog.InfoS("refused", "resource", request.Resource.String(), "subresource", request.SubResource,
		"namespace", request.Namespace, "name", request.Name, "user", request.UserInfo.Username, "fields", fields)
}
