// Package review implements the resources with which clients ask about access and
// identity: SubjectAccessReview, LocalSubjectAccessReview, SelfSubjectAccessReview,
// SelfSubjectRulesReview, SelfSubjectReview and TokenReview. A client creates a
// review, and the server answers with its status. Reviews are not stored.
//
//	map[string]rest.Storage{"selfsubjectaccessreviews": review.SelfSubjectAccess(authorizer)}
//
// `kubectl auth can-i`, `kubectl auth can-i --list` and `kubectl auth whoami` use
// these resources. The error in the status of a TokenReview never contains the
// token.
package review
