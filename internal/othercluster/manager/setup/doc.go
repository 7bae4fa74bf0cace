// Package setup installs operator packages on a cluster that does not have them built in: the
// three kinds, the webhook configurations, and the manager with the rights that it needs.
//
//	installer, err := setup.New(config)
//	err = installer.Install(ctx, setup.Config{Image: image}, report)
//	err = installer.Wait(ctx)
//
// Install is idempotent: it changes only objects that differ, and keeps valid keys. It creates
// the webhook configurations before the kinds, with failure policy Fail. No Instance can
// therefore be written without the webhook.
package setup
