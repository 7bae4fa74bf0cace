package controller

import (
	"holdfast.dev/holdfast/api"
)

// checkBinding returns a fatal error if the content of an OperatorVersion differs from the
// content that the run of the Instance is bound to. Another user may have deleted the
// OperatorVersion and created one of the same name with other templates. The controller
// must not apply these with the rights of the requester.
func checkBinding(instance *api.Instance, version *api.OperatorVersion) error {
	accepted, found, err := api.BoundTo(instance)
	if err != nil {
		return fatalError{err}
	}
	if !found {
		return fatalf("nothing is written down of the operator version that was judged: trigger the plan again")
	}
	now, err := version.Binding()
	if err != nil {
		return fatalError{err}
	}
	if now != accepted {
		return fatalf("operator version %s has other content than when the plan was asked for: it was deleted and created anew. "+
			"Look at it, and trigger the plan again to run it as it is now", version.Name)
	}
	return nil
}
