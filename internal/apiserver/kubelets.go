package apiserver

import (
	"holdfast.dev/holdfast/internal/apiserver/kubelet"
)

// newKubelets returns the connections to kubelets. Without a certificate in the configuration, the
// server presents one of its own authority, which it renews.
func (i installer) newKubelets(identity identityStage) (*kubelet.Kubelets, error) {
	config := i.Config.Kubelet
	if config.CertFile == "" {
		config.CertFile, config.KeyFile = i.PKI.KubeletClientCertFile(), i.PKI.KubeletClientKeyFile()
	}
	return kubelet.New(config, identity.clients.kube)
}
