// Package serviceaccount is the admission plugin that completes new pods: it sets
// their service account, adds the account's image pull secrets, and mounts the
// projected volume with a token. It corresponds to the ServiceAccount plugin of
// Kubernetes.
//
//	plugin := serviceaccount.NewAdmission(lister, client.CoreV1())
package serviceaccount
