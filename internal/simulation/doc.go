// Package simulation tests the logic of a controller with many orders of the same events. Only tests import it.
//
//	simulation.Run(t, simulation.Config{New: newModel, Steps: 200, Rounds: 500, Reached: []string{"user deletes"}})
//
// A system has actors, such as a user, the store, a watch, a controller, the clock, or a crash. In a round, the scheduler lets one actor after the
// other take a step. The seed of the round decides which actor, and what it does. After each step, the system checks what must hold at every
// moment. After the last step, it comes to rest without faults, and checks what must hold then.
//
// A round runs in a bubble of testing/synctest: its clock is virtual, so that an hour takes no time. A controller may have goroutines. Each
// of their requests waits in World.Wait until the scheduler lets it go on, so that other actors act between two requests. All goroutines are blocked
// when an actor takes a step.
//
// A trace is the list of the seeds of the steps. Each step draws its random numbers from its own seed, so that the steps of a trace do the same
// when others are removed. When a round fails, Run removes steps from its trace as long as it still fails, and prints the shortest trace with
// the seed of the round.
//
// HOLDFAST_SOAK sets the duration of a longer test, and HOLDFAST_SEED the seed of the first round.
package simulation
