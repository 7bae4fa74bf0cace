// Package decision decides whether a write of an Instance is accepted.
//
// For an accepted write it decides which parameter values are stored and which plan
// runs. It seals a record of the user that made the write and of the authors of all values
// (package operator/authorship), and binds the run to the content of the OperatorVersion.
// For a refused write it returns all reasons at once. The author of a value is the user that
// set it last, or that took it over. The values of an Instance that a plan of another Instance
// applies also have the authors of the values there.
//
//	review := decision.Review{Old: oldObj, New: newObj, Requester: user, Keys: keyring, Version: get, NewUID: uuid.NewUUID}
//	result, err := review.Decide(ctx)
//	if refused := result.Decision.Err(); refused != nil { ... }
//	store(result.Instance)
//
// It judges writes of the Instance itself, by users and by the controller, but no writes
// of the status subresource. It does not modify its arguments. Package
// admission/instance calls it from the server and from the webhook.
package decision
