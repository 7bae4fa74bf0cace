package keep

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"

	"holdfast.dev/holdfast/immutability"
)

// Rules are the rules "no-delete" of the server.
type Rules interface {
	// Guards reports whether a rule may forbid to delete an object of a resource. It is called for every deletion, so it is cheap.
	Guards(resource schema.GroupResource) bool
	// NoDelete returns the first rule that forbids the deletion, or nil. It has evaluated the condition of the rule (while) for the
	// object, and the rights of the user (unless). In a dry run, protection.Counts of the context is false.
	NoDelete(ctx context.Context, deletion Deletion) (*Rule, error)
}

// Rule is a rule that forbids a deletion.
type Rule struct {
	immutability.Mark
	// Policy is the name of the policy that has the rule, "" for a rule of a definition.
	Policy string
	// File is the file of --rules-dir that has the policy, "" for a policy that is stored.
	File string
	// Unclear says why the condition of the rule could not be evaluated for the object. The rule holds then.
	Unclear error
}

// String returns the rule as a message names it.
func (r *Rule) String() string {
	text := fmt.Sprintf("the rule %q", r.Mark)
	if r.Policy != "" {
		text += " of policy " + r.Policy
	}
	return text
}

// Deletion is the deletion of one object.
type Deletion struct {
	Resource schema.GroupVersionResource
	// Object is the stored object in the version of Resource. It must not be changed.
	Object map[string]any
	// User deletes the object. It is nil if the object would be deleted with its namespace or definition, and if a controller of the
	// server deletes it: then no right lifts a rule.
	User user.Info
}

// noRules are no rules.
type noRules struct{}

// Guards implements Rules.
func (noRules) Guards(schema.GroupResource) bool { return false }

// NoDelete implements Rules.
func (noRules) NoDelete(context.Context, Deletion) (*Rule, error) { return nil, nil }

// toMap returns an object as Deletion needs it.
func toMap(obj runtime.Object) (map[string]any, error) {
	if custom, ok := obj.(interface{ UnstructuredContent() map[string]any }); ok {
		return custom.UnstructuredContent(), nil
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
}
