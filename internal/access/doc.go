// Package access authenticates clients of the server. It holds the certificate
// authority, issues certificates, writes kubeconfig files, and assembles the
// request authenticator.
//
//	pki, err := access.OpenPKI(dir, hosts)
//	err = pki.WriteKubeconfig(path, "https://127.0.0.1:6443")
//
// The packages below it authenticate tokens, authorize requests and limit pods:
//
//	rbac            the RBAC authorizer; stops users from granting more than they have
//	policy          the default ClusterRoles and bindings
//	review          SubjectAccessReviews, SelfSubjectReviews and TokenReviews
//	token           service account tokens
//	openid          tokens of OpenID Connect providers
//	node            the node authorizer and the node restriction plugin
//	serviceaccount  the admission plugin that sets service accounts of pods
//	revocation      the list of revoked credentials
//	certificate     approval and signing of CertificateSigningRequests
//	podsecurity     the admission plugin that enforces the Pod Security Standards
//	matrix          tests of what each kind of user may do
//
// Keys are ECDSA P-256, because generating one takes microseconds; generating
// RSA keys would take most of the server's start time. Files are replaced by
// rename, so a reader sees the old or the new content, never a part of it.
package access
