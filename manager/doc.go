// Package manager runs operator packages on a cluster that does not do so itself:
// the webhook that admits what is written, on every replica, and the controller that
// runs the plans, on the one that leads. Package setup has what it needs there.
//
//	err := manager.Run(ctx, manager.Config{Client: config, Webhook: listener})
//
// It judges and acts with the functions of our own server (packages operator/enforcement
// and operator/controller), and so with the same answers and the same promises:
// what plans write is written with the rights of who asked for them. Who that is, the
// webhook writes down, so plans are run only while the API server asks it.
//
// Its keys are an authority and a serving certificate in one Secret, made by package
// setup and renewed here. When Run returns, everything it started has ended.
package manager
