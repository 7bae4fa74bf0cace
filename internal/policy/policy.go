package policy

import (
	"bytes"
	_ "embed"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
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

// Decode decodes a policy that a server returned.
func Decode(obj *unstructured.Unstructured) (*ImmutabilityPolicy, error) {
	policy := &ImmutabilityPolicy{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, policy); err != nil {
		return nil, fmt.Errorf("policy %s: %w", obj.GetName(), err)
	}
	return policy, nil
}
