// Package admission decides what becomes of a write of an Instance, whoever
// writes it: the values that are stored, the plan that runs, with whose rights and
// for which content of the OperatorVersion, or every reason to refuse.
//
//	result, err := admission.Review{Old: oldObj, New: newObj, Requester: user, Version: get, NewUID: uuid.NewUUID}.Decide()
//	if refused := result.Decision.Err(); refused != nil { ... }
//	store(result.Instance)
//
// It is for writes of the main resource; the status is the controller's. What is
// given stays as it is.
package admission
