package apiserver

import (
	"holdfast.dev/holdfast/internal/apiserver/kubelet"
)

// newKubelets returns the connections to kubelets. Without a certificate in the configuration, the
// server presents one of its own authority, which it renews.
func (i installer) newKubelets(identity identityStage) (*kubelet.Kubelets, error) {
	config := i.config.Kubelet
	if config.CertFile == "" {
		config.CertFile, config.KeyFile = i.pki.KubeletClientCertFile(), i.pki.KubeletClientKeyFile()
	}
	return kubelet.New(config, identity.clients.kube)
}
