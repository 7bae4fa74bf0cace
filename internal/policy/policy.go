package policy

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/immutability"
)

// Policies is the resource of ImmutabilityPolicies.
func Policies() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "guard.holdfast.dev", Version: "v1alpha1", Resource: "immutabilitypolicies"}
}

// EnforcedHook is the name of the post-start hook with which our server begins to enforce policies. Clients ask for its readiness
// check.
const EnforcedHook = "enforce-policies"

//go:embed kind.yaml
var kind []byte

// Definition returns the CustomResourceDefinition of ImmutabilityPolicies as YAML.
func Definition() []byte { return bytes.Clone(kind) }

// The modes of an ImmutabilityPolicy.
const (
	// Enforce refuses an update that breaks a rule. It is the default.
	Enforce = "enforce"
	// Warn accepts the update with a warning.
	Warn = "warn"
)

// ImmutabilityPolicy has rules for resources whose definition its author does not own.
type ImmutabilityPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec Spec `json:"spec"`
}

// Spec is the part of an ImmutabilityPolicy that its author writes.
type Spec struct {
	// Mode is Enforce or Warn. It is the mode of the rules without one.
	Mode string `json:"mode,omitempty"`
	// Resources are the guarded resources as kubectl writes them: deployments.apps, configmaps.
	Resources []string `json:"resources"`
	// Rules are lines of immutability.Annotation. A rule may begin with its mode: warn immutable spec.size.
	Rules []string `json:"rules,omitempty"`
	// StructuredRules are further rules, as objects.
	StructuredRules []StructuredRule `json:"structuredRules,omitempty"`
	// NamespaceSelector selects the namespaces of the objects, by labels. Without it, the policy is
	// for all namespaces, and for objects without one.
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	// ObjectSelector selects objects by labels. An update counts if the old or the new object has them.
	ObjectSelector *metav1.LabelSelector `json:"objectSelector,omitempty"`
}

// StructuredRule is a rule as an object.
type StructuredRule struct {
	// Constraint is the first word of a rule: immutable, no-delete.
	Constraint string `json:"constraint"`
	// Path is the field. A rule no-delete has none.
	Path string `json:"path,omitempty"`
	// Unless is the verb that lets a user break the rule, While the condition in CEL under which the rule holds.
	Unless string `json:"unless,omitempty"`
	While  string `json:"while,omitempty"`
	// Mode is Enforce or Warn, empty for the mode of the policy.
	Mode string `json:"mode,omitempty"`
	// Versions are the versions that have the rule, nil for all versions with the field.
	Versions []string `json:"versions,omitempty"`
}

// line returns the rule as a line.
func (r StructuredRule) line() string {
	words := []string{r.Mode}
	if len(r.Versions) > 0 {
		words = append(words, strings.Join(r.Versions, ",")+":")
	}
	words = append(words, r.Constraint, r.Path)
	if r.Unless != "" {
		words = append(words, "unless", r.Unless)
	}
	if r.While != "" {
		words = append(words, "while", r.While)
	}
	words = slices.DeleteFunc(words, func(word string) bool { return word == "" })
	return strings.NewReplacer("\r", " ", "\n", " ").Replace(strings.Join(words, " ")) // a rule is one line
}

// Decode decodes a policy that a server returned.
func Decode(obj *unstructured.Unstructured) (*ImmutabilityPolicy, error) {
	policy := &ImmutabilityPolicy{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, policy); err != nil {
		return nil, fmt.Errorf("policy %s: %w", obj.GetName(), err)
	}
	return policy, nil
}

// lines returns all rules as lines.
func (p *ImmutabilityPolicy) lines() []string {
	lines := slices.Clone(p.Spec.Rules)
	for _, rule := range p.Spec.StructuredRules {
		lines = append(lines, rule.line())
	}
	return lines
}

// text returns the rules with a mode in the form of the annotation. Rules of the other mode are empty lines, so that
// an error names the number of the rule.
func (p *ImmutabilityPolicy) text(mode string) string {
	all := p.lines()
	lines := make([]string, len(all))
	for i, rule := range all {
		if of, line := p.split(rule); of == mode {
			lines[i] = line
		}
	}
	return strings.Join(lines, "\n")
}

// split returns the mode of a rule, and the rule without it.
func (p *ImmutabilityPolicy) split(rule string) (mode, line string) {
	rule = strings.TrimSpace(rule)
	if first, rest, _ := strings.Cut(rule, " "); first == Enforce || first == Warn {
		return first, strings.TrimSpace(rest)
	}
	return cmp.Or(p.Spec.Mode, Enforce), rule
}

// marks returns the rules of the policy with a mode. The error names the rules that are wrong.
func (p *ImmutabilityPolicy) marks(mode string) ([]immutability.Mark, error) {
	marks, err := immutability.ParseMarks(p.text(mode))
	if err != nil {
		return marks, fmt.Errorf("spec.rules: %w", err)
	}
	return marks, nil
}
