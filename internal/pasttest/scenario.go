package pasttest

import (
	"context"
	"testing"

	"k8s.io/client-go/rest"
)

// Scenario is a controller and the work for it.
type Scenario struct {
	// Client is the client config of the controller, without faults.
	Client *rest.Config
	// Users is a client config that may list namespaces, which tells the revision of the store. It is Client by default.
	Users *rest.Config
	// Controller runs the controller until ctx ends. Each call is a start of the controller: it must keep nothing from an earlier one.
	Controller func(ctx context.Context, config *rest.Config)
	// Script prepares a run and returns its script. The name is different for each run: objects without a namespace have it in their names.
	Script func(t *testing.T, name string) Script
	// MayDelete says that the controller may delete an object without preconditions. If it is nil, the controller may not.
	MayDelete func(path string) bool
}

// Script is what users do in one run.
type Script struct {
	// Steps are the writes of the users, in order.
	Steps []Step
	// State returns the state of all objects of the run, without times, UIDs and resourceVersions.
	State func(ctx context.Context) (string, error)
	// Want is the state at the end, with and without faults.
	Want string
	// Last are steps after the state is as wanted, and they leave the state as it is. They end when the controller has handled a write, so
	// that the controller has also seen every write before.
	Last []Step
}

// Step is one step of a script.
type Step struct {
	// Name says what the step does, for the trace.
	Name string
	// Write writes as a user.
	Write func(ctx context.Context) error
	// Wait, if it is set, is called after the write until it returns nil. If it does not at once, the watches go on until the next step.
	Wait func(ctx context.Context) error
}
