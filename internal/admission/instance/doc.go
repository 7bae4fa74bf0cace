// Package instance applies the rules of package operator/decision to every write
// of an Instance, by any client. Our own server calls it as an admission plugin.
// On clusters of other API servers, package othercluster/manager calls it from a webhook:
//
//	config := instance.Config{
//		Versions: instance.LiveVersions(client), Keys: keyring, Deletions: deletions, Discloses: discloses,
//		Instances: instance.LiveInstances(client, namespaces), MayRead: instance.ReviewedReaders(reviews),
//	}
//	plugin := instance.NewPlugin(config)
//	operations, err := instance.Judge{Config: config}.Mutate(ctx, write)
//
// The plugin runs as the last mutating step of admission, after the webhooks and
// policies that users register, so nothing changes an Instance after it was judged. An
// API server guarantees no order among webhooks. The webhook therefore judges twice:
// as a mutating webhook it completes the Instance, and as a validating webhook, when
// the Instance can no longer change, it confirms that the result is still the same.
//
// The rules are:
//
//   - An Instance is stored as package operator/decision decides. A refusal lists all
//     reasons (422); if the only reason is a running plan, it is a conflict (409).
//   - A refusal shows what the stored Instance contains, such as the old value of a
//     parameter, only to a user that may get the Instance. Others read the parameter and
//     the rule.
//   - The user that deletes an Instance is recorded (package operator/deletion), because its
//     cleanup has the rights of this user.
//   - The spec of an OperatorVersion cannot change, and it cannot be deleted while Instances
//     use it.
//   - In our own server, the definitions of the three kinds cannot be deleted and their
//     specs cannot change. On other servers the administrator manages them.
package instance
