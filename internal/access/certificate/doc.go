// Package certificate approves and signs CertificateSigningRequests for client
// certificates. When a request is approved, the controller writes a certificate of
// the server's authority into its status, or the condition Failed with the reason.
//
//	signer, err := certificate.NewSigner(authority, authorizer, client, informer)
//	signer.Run(ctx)
//
// There are two signers: kubernetes.io/kube-apiserver-client-kubelet for nodes, and
// kubernetes.io/kube-apiserver-client for all other clients. The controller approves
// the request of a node that renews its own certificate. An administrator has to
// approve all other requests. A certificate for the group system:masters is never
// signed, even if the request is approved.
package certificate
