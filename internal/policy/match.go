package policy

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
)

// Match selects the objects of a source.
type Match struct {
	// namespaces and objects are nil if they select everything.
	namespaces, objects labels.Selector
	// NamespaceSelector and ObjectSelector are those of the policy, nil without one.
	NamespaceSelector, ObjectSelector *metav1.LabelSelector
}

// NewMatch returns the selectors of a policy.
func NewMatch(policy *ImmutabilityPolicy) (Match, error) {
	m := Match{NamespaceSelector: policy.Spec.NamespaceSelector, ObjectSelector: policy.Spec.ObjectSelector}
	var err error
	if selector := policy.Spec.NamespaceSelector; selector != nil {
		if m.namespaces, err = metav1.LabelSelectorAsSelector(selector); err != nil {
			return m, fmt.Errorf("spec.namespaceSelector: %w", err)
		}
	}
	if selector := policy.Spec.ObjectSelector; selector != nil {
		if m.objects, err = metav1.LabelSelectorAsSelector(selector); err != nil {
			return m, fmt.Errorf("spec.objectSelector: %w", err)
		}
	}
	return m, nil
}

// SelectsAll reports whether all objects match.
func (m Match) SelectsAll() bool { return m.namespaces == nil && m.objects == nil }

// SelectsObject reports whether objects with labels match, whatever their namespace.
func (m Match) SelectsObject(has labels.Set) bool { return m.objects == nil || m.objects.Matches(has) }

// SelectsNamespace reports whether objects in a namespace with labels match, whatever theirs.
func (m Match) SelectsNamespace(has labels.Set) bool {
	return m.namespaces == nil || m.namespaces.Matches(has)
}

// Matches reports whether an update is of a selected object. labelsOf returns the labels of a
// namespace.
func (m Match) Matches(u *Update, labelsOf func(namespace string) (labels.Set, error)) (bool, error) {
	if m.objects != nil && !m.objects.Matches(labelsIn(u.OldObj)) && !m.objects.Matches(labelsIn(u.NewObj)) {
		return false, nil
	}
	if m.namespaces == nil {
		return true, nil
	}
	if u.Namespace == "" {
		return m.namespaces.Matches(labels.Set{}), nil
	}
	found, err := labelsOf(u.Namespace)
	if err != nil {
		return false, err
	}
	return m.namespaces.Matches(found), nil
}

func labelsIn(obj map[string]any) labels.Set {
	return (&unstructured.Unstructured{Object: obj}).GetLabels()
}
