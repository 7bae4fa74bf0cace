// Package review serves the questions that clients ask about access and
// identity: whether a subject may do something, what the caller may do, who the
// caller is, and whose a token is. They are created, answered and not stored.
//
//	map[string]rest.Storage{"selfsubjectaccessreviews": review.SelfSubjectAccess(authorizer)}
//
// `kubectl auth can-i`, `kubectl auth can-i --list` and `kubectl auth whoami`
// are made of these. A token is never part of an answer's error.
package review
