package guard

import (
	"context"
	"fmt"
	"slices"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/admission/keep"
	"holdfast.dev/holdfast/internal/connection"
	"holdfast.dev/holdfast/internal/definition/assessment"
	"holdfast.dev/holdfast/internal/othercluster/admissionreview"
	"holdfast.dev/holdfast/internal/policy"
)

// keeper answers reviews of deletions, and of writes that set, change or remove the annotation holdfast.dev/keep. The plugin of our
// server decides.
type keeper struct {
	server *connection.Connection
	live   *observed
	rules  *tracker
	// excluded are the namespaces that are never guarded.
	excluded []string
	// events and refusals tell about refused deletions.
	events   *events
	refusals *refusals
}

// answer decides about one review.
func (k keeper) answer(ctx context.Context, request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	ctx, cancel := context.WithTimeout(ctx, (keepSeconds-1)*time.Second)
	defer cancel()
	asked, err := k.deletion(ctx, request)
	if err != nil {
		return admissionreview.Denied(err)
	}
	allowed := &admissionv1.AdmissionResponse{Allowed: true}
	if asked == nil {
		return allowed
	}
	found := &said{}
	object := resourceOf(asked).String() + "/" + asked.Name
	if err := k.check(ctx, asked, found); err != nil {
		denied := admissionreview.Denied(err)
		if !keep.IsRefusal(err) {
			return denied
		}
		klog.InfoS("refused a deletion", "resource", asked.Resource.String(), "namespace", asked.Namespace, "name", asked.Name,
			"user", asked.UserInfo.Username)
		k.events.recordDeletion(asked, found.by)
		k.refusals.addDeletion(asked, found.by)
		if request.Name != "" { // in a collection, every object would need a key of its own
			denied.AuditAnnotations = map[string]string{refusedKey: object}
		}
		return denied
	}
	found.override(allowed, object)
	return allowed
}

// refusedKey is the key of the audit annotation about a refused deletion. The API server puts the name of the webhook before it.
const refusedKey = "refused"

// deletion returns a review with the name of the object, which the deletion of a collection does not have, and an eviction as the
// deletion of the pod. The result is nil if there is no such pod.
func (k keeper) deletion(ctx context.Context, request *admissionv1.AdmissionRequest) (*admissionv1.AdmissionRequest, error) {
	if isEviction(request) {
		return asDeletion(ctx, k.server, request)
	}
	if request.Operation != admissionv1.Delete || request.Name != "" {
		return request, nil
	}
	deleted, err := admissionreview.Object(request.OldObject)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("review: request.oldObject: %v", err))
	}
	out := *request
	out.Name = deleted.GetName()
	return &out, nil
}

func (k keeper) check(ctx context.Context, request *admissionv1.AdmissionRequest, found *said) error {
	attributes, err := attributesOf(request)
	if err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("review: %v", err))
	}
	table, err := k.table(ctx, attributes)
	if err != nil {
		return err
	}
	plugin := k.plugin(enforced(table), found)
	plugin.SetObjects(storedObjects{server: k.server, table: table, complete: needsAll(attributes)})
	if k.rules.terminating(request.Namespace) && request.Operation == admissionv1.Delete &&
		plugin.CheckObject(ctx, attributes.GetResource(), attributes.GetOldObject()) == nil {
		return nil // also an object that every namespace has, and that the controller of namespaces deletes with it
	}
	if err := plugin.Validate(ctx, attributes, nil); err != nil {
		return err
	}
	resource := attributes.GetResource().GroupResource()
	switch {
	case request.Operation == admissionv1.Delete && resource == definitions().GroupResource():
		return checkDefinition(ctx, plugin, table, attributes.GetOldObject())
	case request.Operation == admissionv1.Delete || isDryRun(request):
		return nil
	}
	if _, set := keep.Value(attributes.GetObject()); !set {
		return nil
	}
	for _, h := range k.holders(request) {
		if err := k.live.coverHolder(ctx, h); err != nil {
			return apierrors.NewInternalError(fmt.Errorf("the guard cannot keep %s from being deleted yet, so the object is not stored: %w", h, err))
		}
	}
	return nil
}

// needsAll reports whether the answer to a review needs all objects that would be deleted with another one: those of a namespace that is
// kept while it holds any, and those of a definition that serves its objects.
func needsAll(a admission.Attributes) bool {
	resource := a.GetResource().GroupResource()
	if resource != definitions().GroupResource() {
		return keep.InForce(resource, a.GetOldObject()) == keep.WhileObjects
	}
	crd, ok := a.GetOldObject().(*unstructured.Unstructured)
	return ok && hasCondition(crd, map[string]any{"type": "Established", "status": "True"})
}

// hasCondition reports whether a definition has a condition with some fields.
func hasCondition(crd *unstructured.Unstructured, with map[string]any) bool {
	conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(each any) bool {
		condition, _ := each.(map[string]any)
		for name, wanted := range with {
			if condition[name] != wanted {
				return false
			}
		}
		return true
	})
}

// isDryRun reports whether a review is of a write that is not stored.
func isDryRun(request *admissionv1.AdmissionRequest) bool {
	return request.DryRun != nil && *request.DryRun
}

// isFinalize reports whether a review is of a write of the finalizers of a namespace.
func isFinalize(request *admissionv1.AdmissionRequest) bool {
	return resourceOf(request) == corev1.Resource(namespacesResource) && request.SubResource == "finalize"
}

// table returns the rules for a review. This replica may be behind the leader, because of which the API server asks. So it reads the
// rules for namespaces and definitions, and if it does not know why it is asked.
func (k keeper) table(ctx context.Context, a admission.Attributes) (*policy.Table, error) {
	resource := a.GetResource().GroupResource()
	current := k.rules.current.Load()
	holds := resource == corev1.Resource(namespacesResource) || resource == definitions().GroupResource()
	deletes := a.GetOperation() == admission.Delete || a.GetSubresource() == "finalize"
	if _, set := keep.Value(a.GetOldObject()); !deletes || !holds && (set || len(current.Kept[resource]) > 0) {
		return current, nil
	}
	return k.rules.live(ctx, append(k.rules.inputs().Annotated, resource.String()))
}

// hold answers reviews of objects that rules no-delete begin to keep, in a namespace that is no holder yet. It refuses nothing.
func (k keeper) hold(ctx context.Context, request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	allowed := &admissionv1.AdmissionResponse{Allowed: true}
	if isDryRun(request) {
		return allowed
	}
	ctx, cancel := context.WithTimeout(ctx, (holdersSeconds-1)*time.Second)
	defer cancel()
	for _, h := range k.holders(request) {
		if err := k.live.coverHolder(ctx, h); err != nil {
			allowed.Warnings = append(allowed.Warnings, fmt.Sprintf("the guard cannot keep %s from being deleted yet: %v", h, err))
		}
	}
	return allowed
}

// warn answers reviews of deletions for the rules no-delete that only warn. It refuses nothing.
func (k keeper) warn(ctx context.Context, request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	ctx, cancel := context.WithTimeout(ctx, warningSeconds*time.Second)
	defer cancel()
	allowed := &admissionv1.AdmissionResponse{Allowed: true}
	asked, err := k.deletion(ctx, request)
	if err != nil || asked == nil {
		return allowed
	}
	attributes, err := attributesOf(asked)
	if err != nil {
		return allowed
	}
	found := &said{}
	// As on our server, a rule that forbids the deletion ends the list of warnings.
	plugin := k.plugin(keptResources(k.rules.current.Load()), found)
	ctx = genericapirequest.WithUser(ctx, attributes.GetUserInfo())
	if err := plugin.CheckObject(ctx, attributes.GetResource(), attributes.GetOldObject()); err != nil && !keep.IsRefusal(err) {
		return allowed
	}
	allowed.Warnings = found.warnings
	if by := slices.DeleteFunc(found.by, func(k keptResource) bool { return !k.Warns }); len(by) > 0 {
		k.events.recordDeletion(asked, by)
		k.refusals.addDeletion(asked, by)
	}
	return allowed
}

// plugin returns the plugin of our server with rules no-delete. found gets what the rules say.
func (k keeper) plugin(sources []keptResource, found *said) *keep.Plugin {
	rights := reviewAuthorizer{k.server.Typed.AuthorizationV1().SubjectAccessReviews()}
	out := keep.New(rights)
	out.SetRules(noDelete{sources: sources, authorizer: rights, labelsOf: k.rules.labelsOf, excluded: k.excluded, said: found})
	return out
}

// checkDefinition returns a refusal if the objects of a definition keep it.
func checkDefinition(ctx context.Context, plugin *keep.Plugin, table *policy.Table, obj runtime.Object) error {
	content, ok := obj.(*unstructured.Unstructured)
	if !ok || content.GetDeletionTimestamp() != nil {
		return nil
	}
	crd, err := decodeDefinition(content.Object)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	in := assessment.ResourceOf(crd).WithVersion(servedVersion(crd))
	return plugin.CheckContent(ctx, content, listedIn(table, in))
}

// holders returns the namespace and the definition of the object of a review.
func (k keeper) holders(request *admissionv1.AdmissionRequest) []holder {
	var out []holder
	if request.Namespace != "" && request.Resource.Resource != namespacesResource {
		out = append(out, holder{namespacesResource, request.Namespace})
	}
	name := resourceOf(request).String()
	if k.rules.defines(name) {
		out = append(out, holder{definitionsResource, name})
	}
	return out
}

// coverHolder returns when the API server asks the guard about the deletion of a holder.
func (o *observed) coverHolder(ctx context.Context, h holder) error {
	return covering{live: o}.deletionOf(ctx, h)
}

// deletionOf returns when the API server asks the guard about the deletion of a holder.
func (c covering) deletionOf(ctx context.Context, h holder) error {
	covered := func(in *configuration) bool { return judgesDeletion(c.considered(in), h) }
	return c.live.ensure(ctx, covered, func(in *configuration) error {
		webhook := wanted{}.held(h.earlyName(), []holder{h})
		return c.live.addEarly(ctx, in, webhook, early{path: KeepPath, annotations: map[string]string{h.annotation(): h.String()}})
	})
}

// attributesOf returns a review as the attributes of our admission plugins.
func attributesOf(request *admissionv1.AdmissionRequest) (admission.Attributes, error) {
	var objects [2]runtime.Object
	for i, raw := range []runtime.RawExtension{request.Object, request.OldObject} {
		if len(raw.Raw) == 0 || string(raw.Raw) == "null" {
			continue
		}
		obj, err := admissionreview.Object(raw)
		if err != nil {
			return nil, err
		}
		objects[i] = obj
		if isFinalize(request) { // the plugin reads the finalizers
			namespace := &corev1.Namespace{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, namespace); err != nil {
				return nil, err
			}
			objects[i] = namespace
		}
	}
	by := &user.DefaultInfo{Name: request.UserInfo.Username, UID: request.UserInfo.UID, Groups: request.UserInfo.Groups, Extra: map[string][]string{}}
	for name, values := range request.UserInfo.Extra {
		by.Extra[name] = values
	}
	return admission.NewAttributesRecord(objects[0], objects[1], schema.GroupVersionKind(request.Kind), request.Namespace, request.Name,
		schema.GroupVersionResource(request.Resource), request.SubResource, admission.Operation(request.Operation), nil, isDryRun(request), by), nil
}

// reviewAuthorizer asks the API server for rights.
type reviewAuthorizer struct {
	reviews authorizationclient.SubjectAccessReviewInterface
}

// Authorize implements authorizer.UnconditionalAuthorizer.
func (a reviewAuthorizer) Authorize(ctx context.Context, of authorizer.Attributes) (authorizer.Decision, string, error) {
	by := of.GetUser()
	extra := map[string]authorizationv1.ExtraValue{}
	for name, values := range by.GetExtra() {
		extra[name] = values
	}
	review, err := a.reviews.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: by.GetName(), UID: by.GetUID(), Groups: by.GetGroups(), Extra: extra,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: of.GetVerb(), Group: of.GetAPIGroup(), Version: of.GetAPIVersion(), Resource: of.GetResource(),
			Namespace: of.GetNamespace(), Name: of.GetName(),
		},
	}}, metav1.CreateOptions{})
	if err != nil {
		return authorizer.DecisionNoOpinion, "", err
	}
	if review.Status.Allowed {
		return authorizer.DecisionAllow, review.Status.Reason, nil
	}
	return authorizer.DecisionNoOpinion, review.Status.Reason, nil
}
