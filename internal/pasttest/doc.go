// Package pasttest shows a controller the past, and kills it at its writes. A controller must end in the state that it reaches without
// faults.
//
//	pasttest.Run(t, pasttest.Scenario{Client: config, Controller: run, Script: script})
//
// A scenario has a controller and a script: the writes of users, and the state in which they end. Run plays the script once without
// faults, and then again and again with faults between the controller and the real server:
//
//   - delayed: watches of some resources wait while users write, and those of others do not.
//   - merged: two changes of one object in a waiting watch arrive as one. An object that was created and deleted meanwhile does not appear.
//   - repeated: an event arrives twice.
//   - expired: a watch that waited ends with 410 Gone, and the client lists again.
//   - old: the controller is restarted, and its first list of a resource is one of the past, as from a server that lags.
//   - killed before, killed after: the controller dies at a write that the server has not received, or whose answer is lost, and starts again.
//   - killed late: the controller dies at a write that the server receives some steps later, when the next controller is at work.
//   - all: any of these.
//
// A get, and a list without a resourceVersion, are never old: the API promises that they are not. A watch shows events in order. The
// seed decides about the faults; the speed of the machine decides which write of a controller is the next one.
//
// A controller must delete an object only with its UID or resourceVersion as precondition. Otherwise it could delete a new object of the
// same name.
//
// HOLDFAST_SOAK sets the duration of a longer test, and HOLDFAST_SEED the seed. A test that fails prints the trace: what the users and the
// controller wrote, and what the controller saw.
package pasttest
