package controller

import (
	"holdfast.dev/holdfast/operator/api"
)

// bound refuses to use an OperatorVersion with the rights of a requester who asked
// for another one: somebody else may have deleted the one that was judged, and
// put other templates under its name.
func bound(instance *api.Instance, version *api.OperatorVersion) error {
	judged, found, err := api.BoundTo(instance)
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
	if now != judged {
		return fatalf("operator version %s has other content than when the plan was asked for: it was deleted and created anew. "+
			"Look at it, and trigger the plan again to run it as it is now", version.Name)
	}
	return nil
}
