// Package serviceaccount gives pods their identity as they are created: a
// service account, its pull secrets, and the projected volume with a token, as
// clients of Kubernetes expect.
//
//	plugin := serviceaccount.NewAdmission(lister, client.CoreV1())
package serviceaccount
