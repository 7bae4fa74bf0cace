package guard

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"holdfast.dev/holdfast/internal/admission/keep"
	"holdfast.dev/holdfast/internal/policy"
)

var _ keep.Rules = noDelete{}

// noDelete decides on deletions with rules no-delete.
type noDelete struct {
	sources    []keptResource
	authorizer authorizer.UnconditionalAuthorizer
	// labelsOf returns the labels of a namespace.
	labelsOf func(namespace string) (labels.Set, error)
	// excluded are the namespaces that are never guarded.
	excluded []string
	// said is what the rules say about the deletion of one review.
	said *said
}

// said is what rules no-delete say about one deletion. The objects in a namespace are judged in parallel.
type said struct {
	mu sync.Mutex
	// by are the sources that forbid the deletion, of the object or of one that would be deleted with it.
	by []keptResource
	// verbs are those that let the user delete the object, although rules forbid it.
	verbs []string
	// warnings are those of rules that only warn.
	warnings []string
}

// forbids records that a source forbids the deletion.
func (s *said) forbids(by keptResource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.ContainsFunc(s.by, func(k keptResource) bool {
		return k.Policy == by.Policy && (k.Policy != "" || k.resource == by.resource)
	}) {
		s.by = append(s.by, by)
	}
}

// warn records the warning of a rule that only warns.
func (s *said) warn(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.warnings = append(s.warnings, text)
}

// override adds warnings, and an audit annotation, about a deletion that rights of the user allow, in the words of our server.
func (s *said) override(allowed *admissionv1.AdmissionResponse, object string) {
	var rules []string
	for _, verb := range s.verbs {
		allowed.Warnings = append(allowed.Warnings, object+": deleted by the right to "+verb)
		rules = append(rules, noDeleteRule+" "+verb)
	}
	if len(rules) > 0 {
		allowed.AuditAnnotations = map[string]string{overrideKey: strings.Join(rules, ", ")}
	}
}

// Guards implements keep.Rules.
func (n noDelete) Guards(resource schema.GroupResource) bool {
	return slices.ContainsFunc(n.sources, func(k keptResource) bool { return k.resource == resource })
}

// NoDelete implements keep.Rules.
func (n noDelete) NoDelete(ctx context.Context, d keep.Deletion) (*keep.Rule, error) {
	object := unstructured.Unstructured{Object: d.Object}
	namespace := object.GetNamespace()
	if d.Resource.GroupResource() == corev1.Resource(namespacesResource) { // as in admission, a namespace is in itself
		namespace = object.GetName()
	}
	if slices.Contains(n.excluded, namespace) {
		return nil, nil
	}
	deletion := policy.Deletion{
		Object: policy.Object{Version: d.Resource.Version, Content: d.Object}, Namespace: namespace,
		May: func(verb string) bool {
			if d.User == nil {
				return false
			}
			decision, _, err := n.authorizer.Authorize(ctx, authorizer.AttributesRecord{
				User: d.User, Verb: verb, Namespace: namespace, Name: object.GetName(), APIGroup: d.Resource.Group,
				APIVersion: d.Resource.Version, Resource: d.Resource.Resource, ResourceRequest: true,
			})
			return err == nil && decision == authorizer.DecisionAllow
		},
	}
	var verbs []string
	for _, k := range n.sources {
		if k.resource != d.Resource.GroupResource() {
			continue
		}
		found, err := k.Judge(ctx, deletion, n.labelsOf)
		if err != nil {
			return nil, err
		}
		if found.Refused == nil {
			if !k.Warns {
				verbs = append(verbs, found.Verbs...)
			}
			continue
		}
		n.said.forbids(k)
		rule := &keep.Rule{Mark: *found.Refused, Policy: k.Policy, Unclear: found.Unclear}
		if !k.Warns {
			return rule, nil
		}
		n.said.warn(fmt.Sprintf("%s/%s: %s warns about its deletion", k.resource, object.GetName(), rule))
	}
	if d.User != nil { // without a user, it is the question about an object that would be deleted with another one
		n.said.verbs = verbs
	}
	return nil, nil
}
