package guard

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/definition/refusal"
	"holdfast.dev/holdfast/internal/othercluster/admissionreview"
	"holdfast.dev/holdfast/internal/policy"
)

// NamespacesWebhook is the name of the webhook for changed labels of namespaces.
const NamespacesWebhook = "namespaces.guard.holdfast.dev"

// unlock is the verb that lets a user take an object out of a policy.
const unlock = "unlock"

// selectsNamespaces reports whether the labels of namespaces decide which objects are guarded.
func (w wanted) selectsNamespaces() bool {
	for _, from := range sourcesOf(w.rules) {
		if from.Match.HasNamespaceSelector() {
			return true
		}
	}
	return false
}

// sourcesOf returns the sources of all rules with their resources. A source with several kinds of rules occurs several times.
func sourcesOf(t *policy.Table) iter.Seq2[schema.GroupResource, policy.Source] {
	return func(yield func(schema.GroupResource, policy.Source) bool) {
		for name, r := range t.Resources {
			for _, from := range r.Sources {
				if !yield(name, from) {
					return
				}
			}
		}
		for name, all := range t.Kept {
			for _, k := range all {
				if !yield(name, k.Source) {
					return
				}
			}
		}
	}
}

// namespaceLabels returns the webhook for changed labels of namespaces. The API server does not call it for other updates.
func (w wanted) namespaceLabels() admissionregistrationv1.ValidatingWebhook {
	out := w.webhook(NamespacesWebhook, ImmutablePath)
	out.FailurePolicy, out.TimeoutSeconds = new(admissionregistrationv1.Fail), new(int32(immutableSeconds))
	namespaces := &policy.Resource{Versions: []string{"v1"}}
	out.Rules = []admissionregistrationv1.RuleWithOperations{
		ruleFor(admissionregistrationv1.Update, namespaces, []string{"namespaces", "namespaces/finalize", "namespaces/status"}),
	}
	out.MatchConditions = []admissionregistrationv1.MatchCondition{{
		Name: "changed-labels",
		Expression: `has(object.metadata.labels) != has(oldObject.metadata.labels) || ` +
			`has(object.metadata.labels) && object.metadata.labels != oldObject.metadata.labels`,
	}}
	return out
}

// relabelled is an update that changes labels.
type relabelled struct {
	resource schema.GroupResource
	// namespace is that of the object, empty if it has none.
	namespace, name string
	was, is         labels.Set
}

// left returns the policies that select an object, or the objects of a namespace, only before an update. warned are those whose
// rules only warn.
func (j *judge) left(u relabelled) (refused, warned []string, err error) {
	if maps.Equal(u.was, u.is) {
		return nil, nil, nil
	}
	enforces := map[string]bool{}
	for name, from := range sourcesOf(j.table()) {
		leaves, err := j.leaves(u, name, from.Match)
		if err != nil {
			return nil, nil, err
		}
		if leaves {
			enforces[from.Policy] = enforces[from.Policy] || !from.Warns
		}
	}
	for _, name := range slices.Sorted(maps.Keys(enforces)) {
		if enforces[name] {
			refused = append(refused, name)
		} else {
			warned = append(warned, name)
		}
	}
	return refused, warned, nil
}

// leaves reports whether the selectors of a policy for a resource match only before an update.
func (j *judge) leaves(u relabelled, of schema.GroupResource, m policy.Match) (bool, error) {
	if u.resource == (schema.GroupResource{Resource: "namespaces"}) && m.SelectsNamespace(u.was) && !m.SelectsNamespace(u.is) {
		return true, nil
	}
	if u.resource != of || !m.SelectsObject(u.was) || m.SelectsObject(u.is) {
		return false, nil
	}
	if u.namespace == "" {
		return m.SelectsNamespace(labels.Set{}), nil
	}
	found, err := j.namespace(u.namespace)
	return err == nil && m.SelectsNamespace(found), err
}

// selection refuses an update after which a policy no longer selects the object, or the objects of a namespace, unless the user may
// unlock it. Otherwise a client could remove a label, change the field, and add the label again. It returns nil if it refuses nothing.
func (j *judge) selection(
	ctx context.Context, request *admissionv1.AdmissionRequest, was, is *unstructured.Unstructured,
) (refused *admissionv1.AdmissionResponse, warnings []string) {
	u := relabelled{
		resource:  resourceOf(request),
		namespace: is.GetNamespace(), name: request.Name, was: was.GetLabels(), is: is.GetLabels(),
	}
	enforcing, warning, err := j.left(u)
	if err != nil {
		return admissionreview.Denied(err), nil
	}
	const text = "field is immutable: policy %s would no longer select it"
	for _, name := range warning {
		warnings = append(warnings, "metadata.labels: "+fmt.Sprintf(text, name))
	}
	if len(enforcing) == 0 || j.may(ctx, request, unlock) {
		return nil, warnings
	}
	klog.InfoS("refused", "resource", request.Resource.String(), "namespace", request.Namespace, "name", request.Name,
		"user", request.UserInfo.Username, "fields", []string{"metadata.labels"})
	// As on our server, the refusal names the first policy.
	cause := metav1.StatusCause{
		Type: refusal.CauseTypeFieldImmutable, Field: "metadata.labels",
		Message: fmt.Sprintf(text, enforcing[0]) + " (a user that may unlock it can change it)",
	}
	kind := is.GroupVersionKind().GroupKind()
	return admissionreview.Denied(&apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusBadRequest, Reason: metav1.StatusReasonBadRequest,
		Message: fmt.Sprintf("%s %q cannot be changed this way: metadata.labels: %s", kind, request.Name, cause.Message),
		Details: &metav1.StatusDetails{Group: kind.Group, Kind: kind.Kind, Name: request.Name, UID: is.GetUID(), Causes: []metav1.StatusCause{cause}},
	}}), warnings
}
