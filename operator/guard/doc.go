// Package guard puts the rules of package operator/admission in force inside the
// server, for every client and on every way of writing.
//
//	plugin := guard.New(guard.LiveVersions(client))
//
// It stands last among the mutating steps of admission, after the webhooks and
// policies that users register, so that nothing changes what it judged. Its
// rules: an Instance is stored as admission decides, with all refusals at once
// (422, or 409 when only a running plan is in the way); the spec of an
// OperatorVersion stays as it is; the definitions of the three kinds are the
// server's own.
package guard
