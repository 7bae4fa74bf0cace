package review

import (
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// subject returns the user in the spec of a review.
func subject(spec authorizationv1.SubjectAccessReviewSpec) user.Info {
	info := &user.DefaultInfo{Name: spec.User, Groups: spec.Groups, UID: spec.UID}
	for key, values := range spec.Extra {
		if info.Extra == nil {
			info.Extra = map[string][]string{}
		}
		key = strings.ToLower(key)
		info.Extra[key] = append(info.Extra[key], values...)
	}
	return info
}

// attributesOf returns the attributes of the request that a review asks about.
// Either resource or path is set.
func attributesOf(
	u user.Info, resource *authorizationv1.ResourceAttributes, path *authorizationv1.NonResourceAttributes,
) authorizer.Attributes {
	if resource == nil {
		return authorizer.AttributesRecord{User: u, Verb: path.Verb, Path: path.Path}
	}
	record := authorizer.AttributesRecord{
		User: u, Verb: resource.Verb, Namespace: resource.Namespace,
		APIGroup: resource.Group, APIVersion: resource.Version,
		Resource: resource.Resource, Subresource: resource.Subresource, Name: resource.Name,
		ResourceRequest: true,
	}
	// Authorizers expect "*" where the review leaves the version open.
	if record.APIVersion == "" {
		record.APIVersion = "*"
	}
	record.FieldSelectorRequirements, record.FieldSelectorParsingErr = fieldRequirements(resource.FieldSelector)
	record.LabelSelectorRequirements, record.LabelSelectorParsingErr = labelRequirements(resource.LabelSelector)
	return record
}

// fieldRequirements converts a field selector. It leaves out a requirement that a field
// selector cannot express, such as Exists. The authorizer then decides about a request
// that selects more objects, so it never allows more than with the requirement.
func fieldRequirements(selector *authorizationv1.FieldSelectorAttributes) (fields.Requirements, error) {
	if selector == nil {
		return nil, nil
	}
	if selector.RawSelector != "" {
		parsed, err := fields.ParseSelector(selector.RawSelector)
		if err != nil {
			return nil, err
		}
		return parsed.Requirements(), nil
	}
	operators := map[metav1.FieldSelectorOperator]selection.Operator{
		metav1.FieldSelectorOpIn: selection.Equals, metav1.FieldSelectorOpNotIn: selection.NotEquals,
	}
	var requirements fields.Requirements
	for _, r := range selector.Requirements {
		operator, ok := operators[r.Operator]
		if !ok || len(r.Values) != 1 {
			continue
		}
		requirements = append(requirements, fields.Requirement{Operator: operator, Field: r.Key, Value: r.Values[0]})
	}
	return requirements, nil
}

// labelRequirements converts a label selector. It ignores unknown operators, like
// fieldRequirements.
func labelRequirements(selector *authorizationv1.LabelSelectorAttributes) (labels.Requirements, error) {
	if selector == nil {
		return nil, nil
	}
	if selector.RawSelector != "" {
		parsed, err := labels.Parse(selector.RawSelector)
		if err != nil {
			return nil, err
		}
		requirements, _ := parsed.Requirements()
		return requirements, nil
	}
	operators := map[metav1.LabelSelectorOperator]selection.Operator{
		metav1.LabelSelectorOpIn: selection.In, metav1.LabelSelectorOpNotIn: selection.NotIn,
		metav1.LabelSelectorOpExists: selection.Exists, metav1.LabelSelectorOpDoesNotExist: selection.DoesNotExist,
	}
	var requirements labels.Requirements
	for _, r := range selector.Requirements {
		operator, ok := operators[r.Operator]
		if !ok {
			continue
		}
		requirement, err := labels.NewRequirement(r.Key, operator, r.Values)
		if err != nil {
			return requirements, fmt.Errorf("label selector: %w", err)
		}
		requirements = append(requirements, *requirement)
	}
	return requirements, nil
}
