// Package enforcement puts the rules of package operator/admission in force, for every
// client and on every way of writing. One judgement has two doors:
//
//	plugin := enforcement.NewPlugin(enforcement.LiveVersions(client))         // of our own server
//	handler := enforcement.NewWebhook(enforcement.LiveVersions(client)) // of any other
//
// The plugin stands last among the mutating steps of admission, after the webhooks
// and policies that users register, so that nothing changes what it judged. Among
// webhooks there is no last one, so the webhook judges twice: it completes an
// Instance when it may be changed, and confirms it when it no longer may.
//
// The rules: an Instance is stored as admission decides, with all refusals at once
// (422, or 409 when only a running plan is in the way); the spec of an
// OperatorVersion stays as it is. In our own server the definitions of the three
// kinds are its own as well; elsewhere they are their administrator's.
package enforcement
