// Package matrix contains only tests. They check what each kind of user may do, with
// HTTP requests to a running server. Each user has the kind of credential that it would
// have in a cluster: a certificate, a token, or none.
package matrix
