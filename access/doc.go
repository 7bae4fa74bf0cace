// Package access holds who may reach the server and as whom: the certificate
// authority, the certificates it issues, and the kubeconfig files made of them.
//
//	pki, err := access.OpenPKI(dir, hosts)
//	err = pki.WriteKubeconfig(path, "https://127.0.0.1:6443")
//
// Keys are ECDSA P-256: making one takes microseconds, where RSA would be most
// of the server's start. Files are replaced by rename, so a reader sees an old
// or a new one, never half of one.
package access
