// Package admission decides whether a write of an Instance is accepted.
//
// For an accepted write it decides which parameter values are stored, which plan runs,
// and which user and which content of the OperatorVersion the run is bound to. For a
// refused write it returns all reasons at once.
//
//	result, err := admission.Review{Old: oldObj, New: newObj, Requester: user, Version: get, NewUID: uuid.NewUUID}.Decide()
//	if refused := result.Decision.Err(); refused != nil { ... }
//	store(result.Instance)
//
// It judges writes of the main resource, by users and by the controller alike. Writes
// of the status subresource are not judged. The arguments are not modified. Package
// operator/enforcement calls it from the server and from the webhook.
package admission
