package guard

import (
	"fmt"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/policy"
	"holdfast.dev/holdfast/ownership"
)

// owners returns the webhook for field ownership. It is for all resources, because a client can apply an object of
// any kind. The API server evaluates its conditions itself, so a write that they leave out costs no call.
func (w wanted) owners() admissionregistrationv1.ValidatingWebhook {
	out := w.webhook(OwnershipWebhook, OwnershipPath)
	out.FailurePolicy, out.TimeoutSeconds = new(admissionregistrationv1.Ignore), new(int32(ownershipSeconds))
	resources := []string{"*"}
	for _, endpoint := range ownership.Endpoints() {
		resources = append(resources, endpoint.Resource+"/"+endpoint.Subresource)
	}
	out.Rules = []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: resources,
			Scope: new(admissionregistrationv1.AllScopes),
		},
	}}
	out.MatchConditions = []admissionregistrationv1.MatchCondition{w.notExcluded(), noElection(), noController(), isApplied()}
	return out
}

// definitions returns the webhook for definitions with the annotation. The API server does not call it for others, nor for a write
// that changes neither the annotation nor the spec.
func (w wanted) definitions() admissionregistrationv1.ValidatingWebhook {
	out := w.webhook(DefinitionsWebhook, DefinitionsPath)
	out.FailurePolicy, out.TimeoutSeconds = new(admissionregistrationv1.Fail), new(int32(definitionsSeconds))
	out.Rules = []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{definitions().Group}, APIVersions: []string{definitions().Version}, Resources: []string{definitions().Resource},
			Scope: new(admissionregistrationv1.AllScopes),
		},
	}}
	const annotated = `(has(OBJECT.metadata.annotations) && %[1]q in OBJECT.metadata.annotations)`
	of := func(object string) string {
		return strings.ReplaceAll(fmt.Sprintf(annotated, immutability.Annotation), "OBJECT", object)
	}
	out.MatchConditions = []admissionregistrationv1.MatchCondition{
		{Name: "annotated", Expression: of("object")},
		{Name: "changed", Expression: fmt.Sprintf(`oldObject == null || !%s || object.spec != oldObject.spec || `+
			`object.metadata.annotations[%[2]q] != oldObject.metadata.annotations[%[2]q]`, of("oldObject"), immutability.Annotation)},
	}
	return out
}

// noElection leaves out updates that change nothing but the record of a leader election, see policy.OnlyElection.
func noElection() admissionregistrationv1.MatchCondition {
	const same = `(has(object.FIELD) == has(oldObject.FIELD) && (!has(object.FIELD) || object.FIELD == oldObject.FIELD))`
	conditions := []string{`request.resource.group == "" && request.resource.resource in ["configmaps", "endpoints"] && request.operation == "UPDATE"`}
	for _, field := range []string{
		"data", "binaryData", "immutable", "subsets", "metadata.labels", "metadata.finalizers", "metadata.ownerReferences",
	} {
		conditions = append(conditions, strings.ReplaceAll(same, "FIELD", field))
	}
	// Each annotation of an object but the record is also in the other one.
	const kept = `(!has(A.metadata.annotations) || A.metadata.annotations.all(k, k == RECORD || ` +
		`has(B.metadata.annotations) && k in B.metadata.annotations && A.metadata.annotations[k] == B.metadata.annotations[k]))`
	for _, order := range [][]string{{"A", "object", "B", "oldObject"}, {"A", "oldObject", "B", "object"}} {
		condition := strings.NewReplacer(append(order, "RECORD", fmt.Sprintf("%q", policy.LeaderAnnotation))...).Replace(kept)
		conditions = append(conditions, condition)
	}
	return admissionregistrationv1.MatchCondition{
		Name: "no-leader-election", Expression: "!(" + strings.Join(conditions, " && ") + ")",
	}
}

// notExcluded leaves out the resources of policy.Excluded, and those that the configuration of the guard excludes.
func (w wanted) notExcluded() admissionregistrationv1.MatchCondition {
	expression := fmt.Sprintf(`!(request.resource.group in %s) && !(request.resource.group == "" && request.resource.resource in %s)`,
		list(policy.ExcludedGroups()), list(policy.ExcludedCore()))
	for _, each := range w.resources {
		expression += fmt.Sprintf(` && !(request.resource.group == %q && request.resource.resource == %q)`, each.Group, each.Resource)
	}
	return admissionregistrationv1.MatchCondition{Name: "not-excluded", Expression: expression}
}

// noController leaves out nodes, service accounts and other components, which are controllers, unless they name a
// command of kubectl. See ownership.ParseWriter.
func noController() admissionregistrationv1.MatchCondition {
	return admissionregistrationv1.MatchCondition{
		Name: "no-controller",
		Expression: `!request.userInfo.username.startsWith("system:") || ` +
			`request.userInfo.username in ["system:admin", "system:anonymous", "system:unsecured"] || ` +
			`has(request.options.fieldManager) && request.options.fieldManager.startsWith("kubectl-")`,
	}
}

// isApplied leaves out objects without an owner: neither the old nor the new object has a last-applied configuration, or an
// entry of server-side apply. Managers that apply only the status own nothing else. The review of a scale does not
// show the object.
func isApplied() admissionregistrationv1.MatchCondition {
	// Both can be null, see isKept.
	const annotated = `has(OBJECT.metadata.annotations) && OBJECT.metadata.annotations != null && %q in OBJECT.metadata.annotations`
	const managed = `has(OBJECT.metadata.managedFields) && OBJECT.metadata.managedFields != null && OBJECT.metadata.managedFields.exists(m, ` +
		`m.operation == "Apply" && !(has(m.subresource) && m.subresource == "status"))`
	conditions := []string{`has(request.subResource) && request.subResource == "scale"`}
	for _, object := range []string{"oldObject", "object"} {
		conditions = append(conditions, strings.ReplaceAll(fmt.Sprintf(annotated, ownership.LastApplied), "OBJECT", object),
			strings.ReplaceAll(managed, "OBJECT", object))
	}
	return admissionregistrationv1.MatchCondition{Name: "applied", Expression: strings.Join(conditions, " || ")}
}

// list returns a list of texts in CEL.
func list(texts []string) string { return fmt.Sprintf(`["%s"]`, strings.Join(texts, `", "`)) }
