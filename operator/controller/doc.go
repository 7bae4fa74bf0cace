// Package controller runs the plans of Instances.
//
//	err := controller.Run(ctx, controller.Config{Client: config})
//
// Its words: a run is one execution of a plan, known by the UID that admission
// gave it. Before its first write a run is rehearsed: everything it would apply
// is rendered and sent as a dry run, so that what the requester may not do ends
// the run with nothing done. Then its steps are done, each stored in the status
// of the Instance when it is through, each task too where a step has several. At
// the end, what no plan of the version renders any more is pruned.
//
// Promises: rendered objects are written with the rights of the user who asked
// for the run, and of nobody else, and only from the content of the OperatorVersion
// that the run was judged with; the controller's own rights are for Instances
// and for reading OperatorVersions. An object that is not the Instance's is left
// alone. A controller that is killed and started again goes on where it was: it
// does the task that was under way once more, and no other. When Run returns,
// everything it started has ended.
package controller
