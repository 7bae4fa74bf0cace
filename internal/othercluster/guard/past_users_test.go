package guard_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/othercluster/guard"
	"holdfast.dev/holdfast/internal/pasttest"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// pastRun has the steps of users in one run of TestSoakPast.
type pastRun struct {
	*fixture
	run string
	// fences is the number of fences.
	fences int
}

// object returns an object of YAML.
func (p *pastRun) object(text string, values ...string) *unstructured.Unstructured {
	return yamltest.Object(p.T, strings.NewReplacer(append([]string{"RUN", p.run}, values...)...).Replace(text))
}

// sorted returns the lines of a text in order.
func (p *pastRun) sorted(text string) string {
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(text, "RUN", p.run)), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// until returns a step that tries a write until it succeeds, without that the watches of the guard go on.
func (p *pastRun) until(name string, try func(ctx context.Context) error) pasttest.Step {
	return pasttest.Step{Name: name, Write: func(ctx context.Context) error {
		waittest.Until(p.T, name, func() error { return try(ctx) })
		return nil
	}}
}

// create returns a step that creates an object. The API server refuses some writes while the guard is dead, and the guard refuses a definition
// while its watch of the webhook configuration waits.
func (p *pastRun) create(resource string, object *unstructured.Unstructured) pasttest.Step {
	return pasttest.Step{Name: "create " + resource + " " + object.GetName(), Wait: func(ctx context.Context) error {
		_, err := p.of(resource).Create(ctx, object, metav1.CreateOptions{})
		return err
	}}
}

func (p *pastRun) namespace(name string) pasttest.Step {
	return p.create("namespaces", p.object("{apiVersion: v1, kind: Namespace, metadata: {name: NAME, labels: {run: RUN}}}", "NAME", name))
}

func (p *pastRun) configMap(namespace, name, set string) pasttest.Step {
	return p.create(namespace+"/configmaps", p.object(
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: NAME, labels: {set: SET}}}", "NAME", name, "SET", set))
}

// policy returns a step that creates a policy: for ConfigMaps if its rule is no-delete, and for widgets otherwise.
func (p *pastRun) policy(name, rules, set string) pasttest.Step {
	resource := widgetsPlural + "." + p.run + ".example.com"
	if rules == "no-delete" {
		resource = "configmaps"
	}
	return p.create(policies, p.object(pastPolicies, "NAME", name, "RULES", rules, "SET", set, "RESOURCE", resource))
}

// rules returns a step that changes the rules of a policy.
func (p *pastRun) rules(name, rules string) pasttest.Step {
	return p.until("change policy "+name, func(ctx context.Context) error {
		patch := yamltest.JSON(p.T, "{spec: {rules: ["+rules+"]}}")
		_, err := p.of(policies).Patch(ctx, p.run+"-"+name, types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	})
}

func (p *pastRun) unpolicy(name string) pasttest.Step { return p.removed(policies, p.run+"-"+name) }

// removed returns a step that deletes an object, as soon as the guard lets the user.
func (p *pastRun) removed(resource, name string) pasttest.Step {
	return pasttest.Step{Name: "delete " + resource + " " + name, Wait: func(ctx context.Context) error {
		err := p.of(resource).Delete(ctx, name, metav1.DeleteOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New("it exists"), err)
	}}
}

// lose returns a step that deletes an object of the guard.
func (p *pastRun) lose(resource, name string) pasttest.Step {
	return pasttest.Step{Name: "delete " + name + " of the guard", Write: func(ctx context.Context) error {
		if err := p.of(resource).Delete(ctx, name, metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
			return err
		}
		return nil
	}}
}

// The custom resources of a run. Only gadgets have the annotation.
const (
	widgetsPlural = "widgets"
	gadgetsPlural = "gadgets"
)

// define returns a step that creates a definition, with a rule in its annotation unless the rule is empty.
func (p *pastRun) define(plural, rule string) pasttest.Step {
	object := p.object(pastDefinition, "PLURAL", plural, "KIND", "A"+plural, "RULE", rule)
	if rule == "" {
		object.SetAnnotations(nil)
	}
	return p.create(definitions, object)
}

func (p *pastRun) undefine(plural string) pasttest.Step {
	return p.removed(definitions, plural+"."+p.run+".example.com")
}

// customs is the resource of a definition.
func (p *pastRun) customs(plural string) string {
	return p.run + "/" + plural + ".v1." + p.run + ".example.com"
}

func (p *pastRun) custom(plural, name, set string) pasttest.Step {
	return p.create(p.customs(plural), p.object("{apiVersion: RUN.example.com/v1, kind: KIND, metadata: {name: NAME, labels: {set: SET}}, "+
		"spec: {size: small, note: a, colour: red, extra: none}}", "NAME", name, "KIND", "A"+plural, "SET", set))
}

// asked returns a step that waits until the API server asks the guard about definitions, and about all policies of the run.
func (p *pastRun) asked() pasttest.Step {
	return pasttest.Step{Name: "the API server asks the guard", Wait: func(ctx context.Context) error {
		found, err := p.of(configurations).Get(ctx, guard.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		listed, err := p.of(policies).List(ctx, metav1.ListOptions{})
		text := string(encode(p.T, found.Object))
		needed := []string{guard.DefinitionsWebhook}
		if err == nil && len(listed.Items) > 0 {
			needed = append(needed, guard.ImmutableWebhook, "no-delete-", guard.HeldWebhook)
		}
		for _, name := range needed {
			if !strings.Contains(text, name) {
				return errors.New(name + " is missing")
			}
		}
		return p.fence(ctx)
	}}
}

// inForce returns a step that waits until the status of a policy says that all rules are in force.
func (p *pastRun) inForce(name string) pasttest.Step {
	return pasttest.Step{Name: "policy " + name + " is in force", Wait: func(ctx context.Context) error {
		found, err := p.of(policies).Get(ctx, p.run+"-"+name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if text := p.describe(found); !strings.Contains(text, fmt.Sprintf(" %d True ", found.GetGeneration())) {
			return errors.New(text)
		}
		return p.fence(ctx)
	}}
}

// fence returns when the API server has seen all webhook configurations that were written before: it has one that was written now.
func (p *pastRun) fence(ctx context.Context) error {
	p.fences++
	name := fmt.Sprintf("%s-fence-%d.example.com", p.run, p.fences)
	text := p.object(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: NAME}
webhooks:
- name: NAME
  clientConfig: {url: "https://127.0.0.1:1/"}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
  matchConditions: [{name: fence, expression: object.metadata.name == "NAME"}]
  failurePolicy: Fail
  sideEffects: None
  admissionReviewVersions: [v1]
  timeoutSeconds: 1`, "NAME", name)
	if _, err := p.of(configurations).Create(ctx, text, metav1.CreateOptions{}); err != nil {
		return err
	}
	probe := p.object("{apiVersion: v1, kind: ConfigMap, metadata: {name: NAME}}", "NAME", name)
	waittest.Until(p.T, "the API server has the fence", func() bool {
		_, err := p.of(p.run+"/configmaps").Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err != nil && strings.Contains(err.Error(), name)
	})
	return p.of(configurations).Delete(ctx, name, metav1.DeleteOptions{})
}
