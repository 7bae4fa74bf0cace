package identity

import (
	"holdfast.dev/holdfast/internal/access"
	"holdfast.dev/holdfast/internal/access/review"
	"holdfast.dev/holdfast/internal/apiserver/builtin"
	"holdfast.dev/holdfast/internal/apiserver/start"
)

// Reviews returns the reviews of access and identity, which kubectl auth can-i and kubectl auth whoami create, for the two API
// groups that have them.
func (s Stage) Reviews(b start.Base) (authorization, authentication builtin.Resources) {
	tokens := access.Authentication{Tokens: s.tokens, Revocations: s.revocations}.Token()
	all, rules := b.Generic.Authorization.Authorizer, b.Generic.RuleResolver
	authorization = builtin.Resources{
		"subjectaccessreviews":      review.SubjectAccess(all),
		"localsubjectaccessreviews": review.LocalSubjectAccess(all),
		"selfsubjectaccessreviews":  review.SelfSubjectAccess(all),
		"selfsubjectrulesreviews":   review.SelfSubjectRules(rules),
	}
	authentication = builtin.Resources{
		"selfsubjectreviews": review.SelfSubject(),
		"tokenreviews":       review.Token(tokens, s.TokenRequests.Audiences),
	}
	return authorization, authentication
}
