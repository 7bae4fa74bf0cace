package guard

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/connection"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/definition/assessment"
	"holdfast.dev/holdfast/internal/finding"
	"holdfast.dev/holdfast/internal/policy"
)

// The rules of the findings of Audit.
const (
	lostMarker    = "lost-marker"
	withoutEffect = "rule-without-effect"
	notGuarded    = "not-guarded"
	escape        = "escape"
	drift         = "drift"
)

// AuditRules returns the kinds of findings of Audit.
func AuditRules() []finding.Rule {
	return []finding.Rule{
		{ID: lostMarker, Summary: "A definition was applied with a marker that the server dropped, and no annotation has it."},
		{ID: withoutEffect, Summary: "A rule of an annotation or a policy has no effect."},
		{ID: notGuarded, Summary: "A resource has rules, but the API server does not ask the guard about it."},
		{ID: escape, Summary: "Clients can get around a rule with two writes."},
		{ID: drift, Summary: "A guarded field differs from the last applied configuration, so the next apply is refused."},
	}
}

// auditPage is the number of objects that Audit reads at a time.
const auditPage = 500

// Audit reads the rules of a cluster and the objects that they guard, and returns what is not protected
// as its author expects. Objects is the number of objects that it read. It changes nothing. Of the config, it uses Client,
// PoliciesOnly and ExcludeResources.
func Audit(ctx context.Context, config Config) (found []finding.Finding, objects int, err error) {
	server, err := connection.Open(config.Client, connection.Options{UserAgent: Name})
	if err != nil {
		return nil, 0, err
	}
	defer server.Close()
	a := &audit{server: server, config: config}
	err = a.run(ctx)
	return a.found, a.objects, err
}

// Installed reports whether a guard is installed on a cluster: it has the webhook configuration of a guard that runs, or the namespace that
// "holdfast guard init" creates.
func Installed(ctx context.Context, config *rest.Config) (bool, error) {
	server, err := connection.Open(config, connection.Options{UserAgent: Name})
	if err != nil {
		return false, err
	}
	defer server.Close()
	_, err = server.Typed.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(ctx, Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = server.Typed.CoreV1().Namespaces().Get(ctx, Namespace, metav1.GetOptions{})
	}
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// audit is one run of Audit.
type audit struct {
	server *connection.Connection
	config Config
	// tolerant means that a resource that the client may not list is left out, and is in unread.
	tolerant bool
	unread   []string
	// gated are the resources of the definitions with a policy that refuses changes of them.
	gated   []schema.GroupVersionResource
	found   []finding.Finding
	objects int
}

func (a *audit) report(rule string, severity finding.Severity, object, path, message string) *finding.Finding {
	f := finding.Finding{Rule: rule, Severity: severity, File: object, Object: object, Path: path, Message: message}
	f.Line, f.Column = 1, 1
	a.found = append(a.found, f)
	return &a.found[len(a.found)-1]
}

func (a *audit) run(ctx context.Context) error {
	var in policy.Inputs
	err := a.each(ctx, a.server.Dynamic.Resource(definitions()).List, func(obj *unstructured.Unstructured) {
		if obj.GetAnnotations()[immutability.Annotation] != "" {
			in.Annotated = append(in.Annotated, obj.GetName())
		}
		a.definition(obj)
	})
	if err != nil {
		return fmt.Errorf("list definitions: %w", err)
	}
	err = a.each(ctx, a.server.Dynamic.Resource(policy.Policies()).List, in.Add)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("list policies: %w", err)
	}
	all := policy.Compiler{Server: connected{a.server}, Exclude: a.config.ExcludeResources}
	rules, err := all.Compile(ctx, in)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(rules.Problems)) {
		for _, problem := range rules.Problems[name] {
			a.report(withoutEffect, finding.Error, "customresourcedefinitions/"+name, "metadata.annotations", problem)
		}
	}
	for _, each := range in.Policies {
		for _, problem := range rules.Reports[each.Name].Problems {
			a.report(withoutEffect, finding.Error, "immutabilitypolicies/"+each.Name, "spec", problem)
		}
	}
	// On our server, only the rules of policies need a guard.
	needed := policy.Compiler{Server: all.Server, Exclude: all.Exclude, PoliciesOnly: a.config.PoliciesOnly}
	guarded, err := needed.Compile(ctx, in)
	if err != nil {
		return err
	}
	if enforced, err := enforcesPolicies(ctx, a.server); err != nil {
		return err
	} else if !a.config.PoliciesOnly || !enforced {
		if err := a.coverage(ctx, guarded); err != nil {
			return err
		}
	}
	for _, r := range rules.Sorted() {
		if err := a.resource(ctx, r); err != nil {
			return err
		}
	}
	return a.gates(ctx)
}

// gates finds definitions with a refusing policy, if the guard may not list their objects. The guard then refuses each change for which
// it would have to read them.
func (a *audit) gates(ctx context.Context) error {
	for _, in := range a.gated {
		_, err := a.server.Dynamic.Resource(in).List(ctx, metav1.ListOptions{Limit: 1})
		switch name := in.GroupResource().String(); {
		case err == nil, apierrors.IsNotFound(err), slices.Contains(a.unread, name):
		case a.tolerant && apierrors.IsForbidden(err):
			a.unread = append(a.unread, name)
		default:
			return fmt.Errorf("list %s: %w", name, err)
		}
	}
	return nil
}

// each calls a function for every object of a list.
func (a *audit) each(
	ctx context.Context, list func(context.Context, metav1.ListOptions) (*unstructured.UnstructuredList, error),
	visit func(*unstructured.Unstructured),
) error {
	options := metav1.ListOptions{Limit: auditPage}
	for {
		page, err := list(ctx, options)
		if err != nil {
			return err
		}
		for i := range page.Items {
			visit(&page.Items[i])
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return nil
		}
	}
}

// definition finds markers that the server dropped, and escapes.
func (a *audit) definition(obj *unstructured.Unstructured) {
	name := "customresourcedefinitions/" + obj.GetName()
	live, err := decodeDefinition(obj.Object)
	if err != nil {
		return // the server has validated it, but may know more than this program
	}
	for _, wrong := range definition.ValidateGatePolicy(live) {
		a.report(withoutEffect, finding.Error, name, wrong.Field, wrong.ErrorBody())
	}
	if live.GatePolicy(definition.Warn) != definition.Warn && !a.config.PoliciesOnly { // our server judges them itself
		a.gated = append(a.gated, assessment.ResourceOf(live).WithVersion(servedVersion(live)))
	}
	var applied map[string]any
	text := obj.GetAnnotations()[lastApplied]
	if json.Unmarshal([]byte(text), &applied) == nil {
		if wanted, err := decodeDefinition(applied); err == nil {
			a.lost(name, live, wanted)
		}
	}
	if obj.GetAnnotations()[immutability.Annotation] == "" {
		return
	}
	for _, w := range (definition.Write{APIVersion: definition.V1}).Inspect(live) {
		if w.Topic == definition.Escape || w.Topic == definition.Divergence || w.Topic == definition.StatusTrap {
			a.report(escape, finding.Warning, name, w.Path, w.Message).Fix = w.Fix
		}
	}
}

// lost finds markers of the applied definition that the live one has neither in the schema nor in the annotation.
func (a *audit) lost(name string, live, applied *definition.CustomResourceDefinition) {
	for i := range applied.Spec.Versions {
		v := &applied.Spec.Versions[i]
		now := live.Spec.Version(v.Name)
		if now == nil {
			continue
		}
		wanted, err := applied.MarkedSchema(v)
		if err != nil {
			continue
		}
		has, err := live.MarkedSchema(now)
		if err != nil {
			continue
		}
		for _, w := range immutability.Weakened(wanted, has) {
			a.report(lostMarker, finding.Error, name, immutability.Field(w.Path), fmt.Sprintf("version %s: %s", v.Name, w)).Fix = "move the markers into the annotation: holdfast guard convert"
		}
	}
}

// coverage finds resources with rules that the webhook configuration does not have.
func (a *audit) coverage(ctx context.Context, rules *policy.Table) error {
	live, err := a.server.Typed.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(ctx, Name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	const missing = "the webhook configuration " + Name + " does not have it: is the guard running?"
	for _, r := range rules.Sorted() {
		for _, rule := range updateRules(r) {
			for _, name := range rule.Resources {
				if !covers(live, rule, name) {
					main, sub, _ := strings.Cut(name, "/")
					r := r.GroupResource
					r.Resource = main
					a.report(notGuarded, finding.Error, r.String(), sub, missing)
				}
			}
		}
	}
	if !slices.ContainsFunc(live.Webhooks, func(w admissionregistrationv1.ValidatingWebhook) bool { return w.Name == GateWebhook }) {
		for _, in := range a.gated {
			a.report(notGuarded, finding.Error, definitionsResource+"/"+in.GroupResource().String(), "metadata.annotations["+definition.GateAnnotation+"]", missing)
		}
	}
	for _, k := range keptResources(rules) {
		if !k.covered(live) {
			a.report(notGuarded, finding.Error, k.resource.String(), "", missing)
		}
	}
	return nil
}
