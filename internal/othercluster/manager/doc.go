// Package manager runs operator packages on a cluster that does not have them built in. Every
// replica serves the admission webhook; the leader also runs the controller, which executes
// the plans. Package setup installs what the manager needs on the cluster.
//
//	err := manager.Run(ctx, manager.Config{Client: config, Webhook: listener})
//
// The webhook and the controller are those of our own server, packages admission/instance
// and operator/controller, with the same rules and guarantees. A plan runs with the rights of
// the user that requested it. The webhook records this user on the Instance and seals the record.
// Plans run only while the API server sends every write of Instances to the webhook.
//
// A Secret holds a certificate authority and the serving certificate of the webhook. Package
// setup creates it; the manager renews the certificate. Another Secret holds the keys that seal
// records; the manager generates the first one. When Run returns, all goroutines that it
// started have ended.
package manager
