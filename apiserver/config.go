package apiserver

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
)

// Config says where the server keeps its data and where it listens.
type Config struct {
	// DataDir holds everything the server keeps: etcd's data, certificates, the
	// admin kubeconfig. One server at a time.
	DataDir string
	// BindAddress is the IP address to listen on; empty is 127.0.0.1.
	BindAddress string
	// Port is the port to listen on; 0 picks a free one.
	Port int
	// Kubeconfig is where the admin kubeconfig is written; empty is
	// DataDir/admin.kubeconfig.
	Kubeconfig string
	// Anonymous says what requests without a credential may reach; empty is
	// AnonymousHealth.
	Anonymous Anonymous
	// TokenFile holds bearer tokens that never expire, a line
	// token,user,uid,"group1,group2" each; empty is none.
	TokenFile string
	// EncryptionConfig is a file with Kubernetes' EncryptionConfiguration; empty
	// stores objects as they are.
	EncryptionConfig string
	// Audit logs requests.
	Audit AuditConfig
	// Etcd is the cluster to store objects in; without servers, an etcd member
	// inside this process is used.
	Etcd EtcdConfig
}

// EtcdConfig names an etcd cluster and how to speak TLS to it.
type EtcdConfig struct {
	Servers                   []string
	CAFile, CertFile, KeyFile string
}

func (c EtcdConfig) external() bool { return len(c.Servers) > 0 }

// withDefaults fills in what was left out and refuses what cannot work.
func (c Config) withDefaults() (Config, error) {
	if c.DataDir == "" {
		return c, errors.New("data directory: required")
	}
	if c.BindAddress == "" {
		c.BindAddress = "127.0.0.1"
	}
	if net.ParseIP(c.BindAddress) == nil {
		return c, fmt.Errorf("bind address %q: not an IP address", c.BindAddress)
	}
	if c.Port < 0 || c.Port > 65535 {
		return c, fmt.Errorf("port %d: must be between 0 and 65535", c.Port)
	}
	if c.Kubeconfig == "" {
		c.Kubeconfig = filepath.Join(c.DataDir, "admin.kubeconfig")
	}
	switch c.Anonymous {
	case "":
		c.Anonymous = AnonymousHealth
	case AnonymousHealth, AnonymousNever, AnonymousAlways:
	default:
		return c, fmt.Errorf("anonymous requests %q: must be health, false or true", c.Anonymous)
	}
	if (c.Etcd.CertFile == "") != (c.Etcd.KeyFile == "") {
		return c, errors.New("etcd client certificate: certificate and key belong together")
	}
	if !c.Etcd.external() && (c.Etcd.CAFile != "" || c.Etcd.CertFile != "") {
		return c, errors.New("etcd certificates were given, but no etcd servers")
	}
	return c, nil
}
