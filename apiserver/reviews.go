package apiserver

import (
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapiserver "k8s.io/apiserver/pkg/server"

	"holdfast.dev/holdfast/access"
	"holdfast.dev/holdfast/access/review"
)

// installReviews serves the questions about access and identity that clients
// ask: kubectl auth can-i and whoami are made of them.
func (i installer) installReviews(server *genericapiserver.GenericAPIServer, all authorizer.Authorizer, rules authorizer.RuleResolver) error {
	authorization := i.newGroup(authorizationv1.GroupName)
	addTo(authorization, authorizationv1.SchemeGroupVersion, resources{
		"subjectaccessreviews":      review.SubjectAccess(all),
		"localsubjectaccessreviews": review.LocalSubjectAccess(all),
		"selfsubjectaccessreviews":  review.SelfSubjectAccess(all),
		"selfsubjectrulesreviews":   review.SelfSubjectRules(rules),
	})
	authentication := i.newGroup(authenticationv1.GroupName)
	addTo(authentication, authenticationv1.SchemeGroupVersion, resources{
		"selfsubjectreviews": review.SelfSubject(),
		"tokenreviews":       review.Token(access.Authentication{Tokens: i.tokens.known}.Token(), i.tokens.requests.Audiences),
	})
	if err := server.InstallAPIGroups(authorization, authentication); err != nil {
		return fmt.Errorf("install reviews: %w", err)
	}
	return nil
}
