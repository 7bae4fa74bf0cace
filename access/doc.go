// Package access holds who may reach the server and as whom: the certificate
// authority, the certificates it issues, the kubeconfig files made of them, and
// the credentials by which requests come in.
//
//	pki, err := access.OpenPKI(dir, hosts)
//	err = pki.WriteKubeconfig(path, "https://127.0.0.1:6443")
//
// What somebody may do once in is in the packages below:
//
//	rbac            roles and bindings: the authorizer, no granting beyond oneself
//	policy          the roles and bindings of a new server
//	node            what a node may read and write
//	token           the tokens of service accounts
//	serviceaccount  pods get an account and a token
//	certificate     certificate signing requests
//	review          the questions: may I, what may I, who am I
//
// Keys are ECDSA P-256: making one takes microseconds, where RSA would be most
// of the server's start. Files are replaced by rename, so a reader sees an old
// or a new one, never half of one.
package access
