// Package setup makes a cluster that does not run operator packages itself one that
// does: the kinds, the webhook that admits what is written, and package manager with
// the rights it needs.
//
//	installer, err := setup.New(config)
//	err = installer.Install(ctx, setup.Config{Image: image}, report)
//	err = installer.Wait(ctx)
//
// Install is idempotent: what is as it should be stays as it is, keys too. The
// webhook comes before the kinds, and refuses what it cannot be asked about, so that
// no Instance is ever written that nobody judged.
package setup
