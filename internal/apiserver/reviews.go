package apiserver

import (
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"

	"holdfast.dev/holdfast/internal/access"
	"holdfast.dev/holdfast/internal/access/review"
	"holdfast.dev/holdfast/internal/apiserver/builtin"
)

// installReviews serves the reviews of access and identity, which kubectl auth can-i
// and kubectl auth whoami create.
func (i installer) installReviews(identity identityStage) error {
	tokens := access.Authentication{Tokens: identity.tokens.authenticators, Revocations: identity.revocations}.Token()
	all, rules := i.Generic.Authorization.Authorizer, i.Generic.RuleResolver
	authorization := i.newGroup(authorizationv1.GroupName)
	addTo(authorization, authorizationv1.SchemeGroupVersion, builtin.Resources{
		"subjectaccessreviews":      review.SubjectAccess(all),
		"localsubjectaccessreviews": review.LocalSubjectAccess(all),
		"selfsubjectaccessreviews":  review.SelfSubjectAccess(all),
		"selfsubjectrulesreviews":   review.SelfSubjectRules(rules),
	})
	authentication := i.newGroup(authenticationv1.GroupName)
	addTo(authentication, authenticationv1.SchemeGroupVersion, builtin.Resources{
		"selfsubjectreviews": review.SelfSubject(),
		"tokenreviews":       review.Token(tokens, identity.tokens.requests.Audiences),
	})
	if err := i.server.InstallAPIGroups(authorization, authentication); err != nil {
		return fmt.Errorf("install reviews: %w", err)
	}
	return nil
}
