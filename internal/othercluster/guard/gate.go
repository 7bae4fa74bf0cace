package guard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/connection"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/definition/assessment"
	"holdfast.dev/holdfast/internal/definition/change"
	"holdfast.dev/holdfast/internal/othercluster/admissionreview"
)

const (
	// GateWebhook is the name of the webhook for changes of definitions with a policy that refuses some of them.
	GateWebhook = "gate.guard.holdfast.dev"
	// GatePath is its path, before the token.
	GatePath = "/gate"
	// gateSeconds bounds one review. It is longer than the objects may be read.
	gateSeconds = 25
	// scanTimeout is the time in which the objects are read, that of our server.
	scanTimeout = 20 * time.Second
	// scanPage is the number of objects that are read at a time, that of our server. An object may have 1.5 MB.
	scanPage = 40
)

// gate returns the webhook for changes of definitions. The API server calls it in two cases: a write sets an unknown policy, or the stored
// definition has a policy that refuses changes, and the write changes this policy or what matters to objects.
func (w wanted) gate() admissionregistrationv1.ValidatingWebhook {
	out := w.webhook(GateWebhook, GatePath)
	out.FailurePolicy, out.TimeoutSeconds = new(admissionregistrationv1.Fail), new(int32(gateSeconds))
	rule := func(operation admissionregistrationv1.OperationType, resources ...string) admissionregistrationv1.RuleWithOperations {
		return admissionregistrationv1.RuleWithOperations{Operations: []admissionregistrationv1.OperationType{operation}, Rule: admissionregistrationv1.Rule{
			APIGroups: []string{definitions().Group}, APIVersions: []string{definitions().Version}, Resources: resources,
			Scope: new(admissionregistrationv1.AllScopes),
		}}
	}
	out.Rules = []admissionregistrationv1.RuleWithOperations{
		rule(admissionregistrationv1.Create, definitionsResource),
		rule(admissionregistrationv1.Update, definitionsResource, definitionsResource+"/status"),
	}
	annotation := func(object, key, otherwise string) string {
		return fmt.Sprintf(`(%s ? %s.metadata.annotations[%q] : %q)`, hasAnnotation(object, key), object, key, otherwise)
	}
	policyOf := func(object string) string {
		return annotation(object, definition.GateAnnotation, string(definition.Warn))
	}
	rulesOf := func(object string) string { return annotation(object, immutability.Annotation, "") }
	var names []string
	for _, policy := range definition.GatePolicies {
		names = append(names, string(policy))
	}
	changed := fmt.Sprintf(`%s != %s`, policyOf("object"), policyOf("oldObject"))
	// A write of the status cannot change the spec, but metadata.
	const content = `(has(request.subResource) && request.subResource == "status" ? object.status.storedVersions != oldObject.status.storedVersions : ` +
		`object.spec != oldObject.spec)`
	out.MatchConditions = []admissionregistrationv1.MatchCondition{{
		Name: "policy",
		Expression: fmt.Sprintf(`%s in %s || !(%s in %s) && %s`,
			policyOf("oldObject"), list(names[1:]), policyOf("object"), list(names), changed),
	}, {
		Name:       "changed",
		Expression: fmt.Sprintf(`oldObject == null || %s || %s || %s != %s`, content, changed, rulesOf("object"), rulesOf("oldObject")),
	}}
	return out
}

// gate answers reviews of definitions. It lists the objects of the kind, because it cannot read what is stored.
type gate struct {
	server   *connection.Connection
	may      rightsFunc
	timeout  time.Duration
	events   *events
	refusals *refusals
}

// answer decides about one review.
func (g gate) answer(ctx context.Context, request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	w, err := decodeWrite(request)
	if err != nil {
		return admissionreview.Denied(apierrors.NewBadRequest(fmt.Sprintf("review: %v", err)))
	}
	report, err := g.judge(ctx, w)
	if err == nil {
		allowed := &admissionv1.AdmissionResponse{Allowed: true}
		if report != nil {
			allowed.Warnings = report.Warnings(w.policy, g.mayList(ctx, w))
		}
		return allowed
	}
	denied := admissionreview.Denied(err)
	if apierrors.IsInternalError(err) || apierrors.IsTimeout(err) {
		return denied
	}
	var places []string
	if denied.Result.Details != nil {
		for _, cause := range denied.Result.Details.Causes {
			places = append(places, cause.Field)
		}
	}
	if len(places) == 0 {
		places = []string{"metadata.annotations[" + definition.GateAnnotation + "]"}
	}
	klog.InfoS("refused a change of a definition", "name", w.crd.Name, "subresource", request.SubResource, "user", request.UserInfo.Username,
		"fields", places)
	denied.AuditAnnotations = map[string]string{refusedKey: definition.Resource.String() + "/" + w.crd.Name}
	if w.old != nil {
		g.events.recordDefinition(request, w.old, places)
		g.refusals.addDefinition(request, w.policy)
	}
	return denied
}

// definitionWrite is a write of a definition.
type definitionWrite struct {
	request *admissionv1.AdmissionRequest
	// old is nil if the definition is new.
	old, crd *definition.CustomResourceDefinition
	// policy is in force: that of the stored definition.
	policy definition.GatePolicy
	// isServed says that the API server has served objects of the definition.
	isServed bool
	// isMigrated says that Kubernetes has stored all objects in the storage version.
	isMigrated bool
}

func decodeWrite(request *admissionv1.AdmissionRequest) (definitionWrite, error) {
	w := definitionWrite{request: request, policy: definition.Warn}
	obj, err := admissionreview.Object(request.Object)
	if err != nil {
		return w, fmt.Errorf("request.object: %w", err)
	}
	if w.crd, err = decodeDefinition(obj.Object); err != nil {
		return w, fmt.Errorf("request.object: %w", err)
	}
	// The controller of StorageVersionMigrations sets the condition with the write that shortens the stored versions.
	w.isMigrated = hasCondition(obj, map[string]any{
		"type": "StorageMigrating", "status": "False", "reason": "MigrationSucceeded", "observedGeneration": obj.GetGeneration(),
	})
	if request.Operation != admissionv1.Update {
		return w, nil
	}
	old, err := admissionreview.Object(request.OldObject)
	if err != nil {
		return w, fmt.Errorf("request.oldObject: %w", err)
	}
	if w.old, err = decodeDefinition(old.Object); err != nil {
		return w, fmt.Errorf("request.oldObject: %w", err)
	}
	w.policy, w.isServed = w.old.GatePolicy(definition.Warn), hasCondition(old, map[string]any{"type": "Established", "status": "True"})
	return w, nil
}

// judge returns the refusal of a write, or a report for its warnings, which may be nil.
func (g gate) judge(ctx context.Context, w definitionWrite) (*assessment.Report, error) {
	if errs := definition.ValidateGatePolicy(w.crd); len(errs) > 0 {
		return nil, apierrors.NewInvalid(definition.Kind.GroupKind(), w.crd.Name, errs)
	}
	if w.policy == definition.Warn {
		return nil, nil
	}
	report, err := g.report(ctx, w)
	if err != nil || report == nil {
		return nil, err
	}
	if err := g.read(ctx, w, report); err != nil {
		return nil, err
	}
	return report, report.Refuse(w.policy, g.mayList(ctx, w))
}

// report begins the report about a write. It is nil if the write changes nothing that matters to objects.
func (g gate) report(ctx context.Context, w definitionWrite) (*assessment.Report, error) {
	if next := w.crd.GatePolicy(definition.Warn); next.IsWeakerThan(w.policy) && !g.may(ctx, w.request, assessment.Verb) {
		return nil, assessment.Weaker(w.crd, w.policy, next)
	}
	if w.request.SubResource == "status" {
		var gone []string
		if !w.isMigrated {
			// Kubernetes keeps a version in the spec until it is not stored. Only a client can have added another one.
			gone = slices.DeleteFunc(assessment.Unstored(w.old, w.crd), func(version string) bool { return w.old.Spec.Version(version) == nil })
		}
		return assessment.CompareStatus(w.old, w.crd, change.MayBeStored(gone)), nil
	}
	if definition.SameForObjects(w.old, w.crd) {
		return nil, nil
	}
	return assessment.Compare(w.old, w.crd)
}

// read lists the objects in each version in which they may be stored, if they matter.
func (g gate) read(ctx context.Context, w definitionWrite, report *assessment.Report) error {
	if !report.Reads || !w.isServed {
		return nil
	}
	if !slices.ContainsFunc(w.old.Spec.Versions, func(v definition.CustomResourceDefinitionVersion) bool { return v.Served }) {
		return assessment.Unreadable(w.crd, errors.New("no version is served, so the objects cannot be listed: serve a version first"))
	}
	bounded, cancel := context.WithTimeout(ctx, g.timeout)
	defer cancel()
	for _, v := range viewsOf(w.old) {
		report.Pass()
		err := g.list(bounded, assessment.ResourceOf(w.old).WithVersion(v.listed), func(object *unstructured.Unstructured) {
			object.SetAPIVersion(schema.GroupVersion{Group: w.old.Spec.Group, Version: v.judged}.String())
			report.Add(bounded, nameOf(object), object.Object)
		})
		if err == nil {
			err = bounded.Err() // the time ended while the last object was judged, and the report leaves that object out
		}
		switch {
		case err == nil:
		case errors.Is(bounded.Err(), context.DeadlineExceeded):
			report.Late = g.timeout
			return nil
		case apierrors.IsForbidden(err):
			return mayNot("list", assessment.ResourceOf(w.old), err)
		default:
			return assessment.Unreadable(w.crd, err)
		}
	}
	return nil
}

// view says in which version the guard lists objects, and which version of the definition judges them.
type view struct{ listed, judged string }

// viewsOf returns a view for each version in which objects may be stored. A version that is not served is listed in another one: without a
// conversion webhook, it shows the fields that both have.
func viewsOf(crd *definition.CustomResourceDefinition) []view {
	var out []view
	for _, name := range append(slices.Clone(crd.Status.StoredVersions), crd.Spec.StorageVersion()) {
		v := view{name, name}
		if version := crd.Spec.Version(name); version == nil || !version.Served {
			v.listed = servedVersion(crd)
			if !crd.Spec.ConvertsNothing() {
				v.judged = v.listed
			}
		}
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// list visits all objects of a resource, a page at a time.
func (g gate) list(ctx context.Context, in schema.GroupVersionResource, visit func(*unstructured.Unstructured)) error {
	options := metav1.ListOptions{Limit: scanPage}
	for {
		page, err := g.server.Dynamic.Resource(in).List(ctx, options)
		if err != nil {
			return err
		}
		for i := range page.Items {
			if err := ctx.Err(); err != nil {
				return err
			}
			visit(&page.Items[i])
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return nil
		}
	}
}

// nameOf returns the name of an object in messages.
func nameOf(object *unstructured.Unstructured) string {
	if object.GetNamespace() == "" {
		return object.GetName()
	}
	return object.GetNamespace() + "/" + object.GetName()
}

// mayList returns a function that reports whether the user of a write may list the objects of the definition.
func (g gate) mayList(ctx context.Context, w definitionWrite) func() bool {
	return sync.OnceValue(func() bool {
		of := assessment.ResourceOf(w.crd)
		return allows(ctx, g.server.Typed.AuthorizationV1().SubjectAccessReviews(), w.request.UserInfo, authorizationv1.ResourceAttributes{
			Verb: "list", Group: of.Group, Version: w.crd.Spec.StorageVersion(), Resource: of.Resource,
		})
	})
}
