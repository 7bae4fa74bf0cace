// Package certificate answers CertificateSigningRequests for clients and nodes:
// an approved request gets a certificate of the server's authority in its
// status, or a condition that says why not.
//
//	signer, err := certificate.NewSigner(authority, authorizer, client, informer)
//	signer.Run(ctx)
//
// Its signers are kubernetes.io/kube-apiserver-client, for anybody but
// administrators and nodes, and kubernetes.io/kube-apiserver-client-kubelet, for
// nodes. A node that asks for a new certificate of its own name is approved by
// itself; everything else waits for a person. Nobody gets a certificate of the group system:masters, approved or not.
package certificate
