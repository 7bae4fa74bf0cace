package review

import (
	"context"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/registry/rest"
)

// SelfSubjectRules returns the storage of selfsubjectrulesreviews, which ask for
// the rules that apply to the client in a namespace.
func SelfSubjectRules(resolver authorizer.RuleResolver) rest.Storage {
	return &storage[authorizationv1.SelfSubjectRulesReview, *authorizationv1.SelfSubjectRulesReview]{
		kind: authorizationv1.SchemeGroupVersion.WithKind("SelfSubjectRulesReview").GroupKind(),
		validate: func(_ context.Context, review *authorizationv1.SelfSubjectRulesReview) error {
			if review.Spec.Namespace == "" {
				return apierrors.NewBadRequest("no namespace on request")
			}
			return nil
		},
		evaluate: func(ctx context.Context, review *authorizationv1.SelfSubjectRulesReview) error {
			u, err := caller(ctx)
			if err != nil {
				return err
			}
			resources, paths, incomplete, err := resolver.RulesFor(ctx, u, review.Spec.Namespace)
			status := authorizationv1.SubjectRulesReviewStatus{
				// Clients expect an empty list, not null.
				ResourceRules:    []authorizationv1.ResourceRule{},
				NonResourceRules: []authorizationv1.NonResourceRule{},
				Incomplete:       incomplete,
			}
			for _, r := range resources {
				status.ResourceRules = append(status.ResourceRules, authorizationv1.ResourceRule{
					Verbs: r.GetVerbs(), APIGroups: r.GetAPIGroups(), Resources: r.GetResources(), ResourceNames: r.GetResourceNames(),
				})
			}
			for _, r := range paths {
				status.NonResourceRules = append(status.NonResourceRules, authorizationv1.NonResourceRule{
					Verbs: r.GetVerbs(), NonResourceURLs: r.GetNonResourceURLs(),
				})
			}
			if err != nil {
				status.EvaluationError = err.Error()
			}
			review.Status = status
			return nil
		},
	}
}
