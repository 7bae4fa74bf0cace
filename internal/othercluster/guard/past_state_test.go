package guard_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/othercluster/guard"
	"holdfast.dev/holdfast/internal/pasttest"
)

// change sets a field of a custom resource.
func (p *pastRun) change(ctx context.Context, plural, name, field, value string) error {
	patch := fmt.Appendf(nil, `{"spec":{%q:%q}}`, field, value)
	_, err := p.of(p.customs(plural)).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// refuses returns a step that fails if the API server accepts a write. The API server refuses it also while the guard is dead, and then the
// step tries it again, until the guard refuses it. The watches of the guard do not go on meanwhile.
func (p *pastRun) refuses(what, reason string, write func(ctx context.Context) error) pasttest.Step {
	return p.until("the guard refuses "+what, func(ctx context.Context) error {
		err := write(ctx)
		switch got := outcome(err); {
		case err == nil:
			p.Errorf("the guard accepts %s", what)
			return nil
		case strings.HasPrefix(got, reason+": ") && strings.Contains(got, "guard.holdfast.dev"):
			return nil
		}
		return err
	})
}

// refused returns a step that changes a field, which a rule forbids.
func (p *pastRun) refused(plural, name, field string) pasttest.Step {
	return p.refuses(fmt.Sprintf("a change of %s %s.%s", plural, name, field), "BadRequest", func(ctx context.Context) error {
		return p.change(ctx, plural, name, field, "forbidden")
	})
}

// kept returns a step that deletes an object, which a rule forbids.
func (p *pastRun) kept(what, resource, name string) pasttest.Step {
	return p.refuses("the deletion of "+what, "Conflict", func(ctx context.Context) error {
		return p.of(resource).Delete(ctx, name, metav1.DeleteOptions{})
	})
}

// accepted returns a step that waits until the guard accepts a change of a field.
func (p *pastRun) accepted(plural, name, field string) pasttest.Step {
	return pasttest.Step{Name: fmt.Sprintf("the guard accepts a change of %s %s.%s", plural, name, field), Wait: func(ctx context.Context) error {
		return p.change(ctx, plural, name, field, "other")
	}}
}

// describe returns the status of a policy.
func (*pastRun) describe(found *unstructured.Unstructured) string {
	text := found.GetName()
	conditions, _, _ := unstructured.NestedSlice(found.Object, "status", "conditions")
	for _, each := range conditions {
		condition, _ := each.(map[string]any)
		text += fmt.Sprintf(" %v %v %v", condition["observedGeneration"], condition["status"], condition["message"])
	}
	guarded, _, _ := unstructured.NestedSlice(found.Object, "status", "guarded")
	return fmt.Sprintf("%s %v", text, guarded)
}

// state describes the policies and objects of the run, what the API server asks the guard about, and the report.
func (p *pastRun) state(ctx context.Context) (string, error) {
	var lines []string
	for _, name := range []string{"keep", "notes", "sizes"} {
		found, err := p.of(policies).Get(ctx, p.run+"-"+name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		lines = append(lines, p.describe(found))
	}
	for plural, name := range map[string]string{widgetsPlural: "w", gadgetsPlural: "g"} {
		found, err := p.of(p.customs(plural)).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		lines = append(lines, fmt.Sprintf("%s %s %v", plural, name, found.Object["spec"]))
	}
	if _, err := p.of(p.run+"-held/configmaps").Get(ctx, "k", metav1.GetOptions{}); err != nil {
		return "", err
	}
	found, err := p.of(configurations).Get(ctx, guard.Name, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	lines = append(lines, p.askedAbout(found)...)
	results, _ := p.reported("clusterreports.v1alpha1.openreports.io")
	for _, result := range results {
		if strings.Contains(result, p.run) && strings.HasPrefix(result, "pass ") && !strings.Contains(result, p.run+"-last") {
			lines = append(lines, strings.Replace(result, " : ", ": ", 1))
		}
	}
	secret, err := p.of("holdfast-guard/secrets").Get(ctx, guard.SecretName, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	authority, _, _ := unstructured.NestedString(secret.Object, "data", "ca.crt")
	if webhooks, _, _ := unstructured.NestedSlice(found.Object, "webhooks"); !p.accept(webhooks, authority) {
		return "", errors.New("the webhook configuration does not have the authority of the Secret")
	}
	lines = append(lines, "the API server accepts the authority of the Secret")
	slices.Sort(lines)
	return strings.Join(lines, "\n"), nil
}

// askedAbout says which webhooks ask about the custom resources of the run, and about the deletion of its namespaces.
func (p *pastRun) askedAbout(found *unstructured.Unstructured) []string {
	var lines []string
	webhooks, _, _ := unstructured.NestedSlice(found.Object, "webhooks")
	for _, each := range webhooks {
		webhook, _ := each.(map[string]any)
		rules, _, _ := unstructured.NestedSlice(webhook, "rules")
		for _, one := range rules {
			text := string(encode(p.T, one))
			for _, plural := range []string{widgetsPlural, gadgetsPlural} {
				if strings.Contains(text, `"`+p.run+`.example.com"`) && strings.Contains(text, `"`+plural+`"`) {
					lines = append(lines, fmt.Sprintf("asked about %s by %v", plural, webhook["name"]))
				}
			}
		}
		if webhook["name"] == guard.HeldWebhook && strings.Contains(string(encode(p.T, webhook["matchConditions"])), p.run+"-held") {
			lines = append(lines, "asked about holder "+p.run+"-held")
		}
	}
	return lines
}

// covered returns a step that fails unless the API server asks the guard about a kind.
func (p *pastRun) covered(plural string) pasttest.Step {
	return pasttest.Step{Name: "the API server asks about " + plural, Write: func(ctx context.Context) error {
		found, err := p.of(configurations).Get(ctx, guard.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if lines := p.askedAbout(found); !strings.Contains(strings.Join(lines, "\n"), "about "+plural) {
			return fmt.Errorf("the webhook configuration does not have it, but %v", lines)
		}
		return nil
	}}
}

// accept reports whether all webhooks of the leader have an authority.
func (p *pastRun) accept(webhooks []any, authority string) bool {
	wanted, err := base64.StdEncoding.DecodeString(authority)
	return err == nil && len(webhooks) > 0 && !slices.ContainsFunc(webhooks, func(each any) bool {
		webhook, _ := each.(map[string]any)
		text, _, _ := unstructured.NestedString(webhook, "clientConfig", "caBundle")
		bundle, err := base64.StdEncoding.DecodeString(text)
		return err != nil || !bytes.Contains(bundle, bytes.TrimSpace(wanted))
	})
}
