package live

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/cli/plan"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/definition/refusal"
	"holdfast.dev/holdfast/internal/finding"
	"holdfast.dev/holdfast/internal/policy"
	"holdfast.dev/holdfast/schema"
)

// described has what policies need to know about the kind of one object. It implements policy.Server.
type described struct {
	planner *Planner
	*draft
}

// Definition implements policy.Server.
func (s described) Definition(context.Context, string) (*definition.CustomResourceDefinition, error) {
	return s.crd, nil
}

// Published implements policy.Server.
func (s described) Published(ctx context.Context, _ runtimeschema.GroupResource) (*policy.Published, error) {
	kind := s.in.GroupVersionKind()
	path := "/openapi/v3/apis/" + kind.GroupVersion().String()
	if kind.Group == "" {
		path = "/openapi/v3/api/" + kind.Version
	}
	client, err := s.planner.Factory.RESTClient()
	if err != nil {
		return nil, err
	}
	document, err := client.Get().AbsPath(path).SetHeader("Accept", "application/json").Do(ctx).Raw()
	if err != nil {
		return nil, fmt.Errorf("OpenAPI of %s: %w", kind.GroupVersion(), err)
	}
	read := func() (*schema.Schema, error) { return policy.PublishedSchema(document, kind) }
	return &policy.Published{Kind: kind, Schema: read}, nil
}

// policies returns the ImmutabilityPolicies of the cluster that are about an object, compiled. It is nil if there are none.
func (p *Planner) policies(ctx context.Context, d *draft) (*policy.Table, error) {
	client, err := p.Factory.DynamicClient()
	if err != nil {
		return nil, err
	}
	list, err := client.Resource(policy.Policies()).List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil // the cluster does not have the kind
	}
	if err != nil {
		return nil, err
	}
	name := d.in.info.Mapping.Resource.GroupResource()
	var in policy.Inputs
	for i := range list.Items {
		found, err := policy.Decode(&list.Items[i])
		if err != nil || !slices.Contains(found.Spec.Resources, name.String()) {
			continue
		}
		found.Spec.Resources = []string{name.String()}
		in.Policies = append(in.Policies, found)
	}
	if len(in.Policies) == 0 || slices.Contains(policy.ExcludedNamespaces(), d.in.GetNamespace()) {
		return nil, nil
	}
	return policy.Compiler{Server: described{p, d}, PoliciesOnly: true}.Compile(ctx, in)
}

// checkPolicies adds the reasons for which ImmutabilityPolicies refuse an update. A policy that cannot be read or evaluated is a note.
func (p *Planner) checkPolicies(ctx context.Context, d *draft, oldObj, newObj map[string]any) []finding.Finding {
	table, err := p.policies(ctx, d)
	if err != nil {
		d.note("the ImmutabilityPolicies of the cluster are not checked: %v", err)
		return nil
	}
	name := d.in.info.Mapping.Resource.GroupResource()
	if table == nil || table.Resources[name] == nil {
		return nil
	}
	found, err := table.Resources[name].Check(ctx, &policy.Update{
		Version: d.in.GroupVersionKind().Version, Namespace: d.selectedNamespace(), Name: d.in.GetName(), OldObj: oldObj, NewObj: newObj,
		May:    p.mays(ctx, d),
		Stored: func(context.Context, string) (map[string]any, error) { return oldObj, nil },
	}, p.labelsOf(ctx))
	if err != nil {
		d.note("the ImmutabilityPolicies of the cluster are not checked: %v", err)
	}
	answer := refusal.Answer{Values: d.in.GetKind() != "Secret"}
	for _, v := range found.Allowed {
		d.Override(answer.Override(v))
	}
	var reasons []finding.Finding
	for _, v := range found.Refused {
		f := finding.Finding{
			Rule: plan.ImmutableRule, Severity: finding.Error, Path: v.Path.String(), Message: answer.Message(v), Fix: v.Hint(),
		}
		f.Fix = plan.WithConditions(f, func(string) bool { return true })
		reasons = append(reasons, f)
	}
	return reasons
}

// keptOffline returns why the server would refuse to delete an object, as far as the rules say that the client can read.
func (p *Planner) keptOffline(ctx context.Context, d *draft) string {
	deletion := policy.Deletion{
		Object:    policy.Object{Version: d.in.GroupVersionKind().Version, Content: d.live()},
		Namespace: d.selectedNamespace(), May: p.mays(ctx, d),
	}
	if why := plan.Kept(ctx, d.crd, deletion); why != "" {
		return why
	}
	table, err := p.policies(ctx, d)
	if err != nil || table == nil {
		return "" // checkPolicies has the note
	}
	for _, kept := range table.Kept[d.in.info.Mapping.Resource.GroupResource()] {
		if found, err := kept.Judge(ctx, deletion, p.labelsOf(ctx)); err == nil && found.Refused != nil && !kept.Warns {
			return fmt.Sprintf("the rule %q of policy %s keeps it", found.Refused.String(), kept.Policy)
		}
	}
	return ""
}

// selectedNamespace returns the namespace by which policies select an object. As in admission, a namespace is in itself.
func (d *draft) selectedNamespace() string {
	if d.in.GroupVersionKind() == corev1.SchemeGroupVersion.WithKind("Namespace") {
		return d.in.GetName()
	}
	return d.in.GetNamespace()
}

// labelsOf returns the labels of a namespace.
func (p *Planner) labelsOf(ctx context.Context) func(namespace string) (labels.Set, error) {
	return func(namespace string) (labels.Set, error) {
		client, err := p.Factory.KubernetesClientSet()
		if err != nil {
			return nil, err
		}
		found, err := client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return found.Labels, nil
	}
}
