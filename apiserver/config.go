package apiserver

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"

	"k8s.io/component-base/featuregate"

	"holdfast.dev/holdfast/access"
	"holdfast.dev/holdfast/access/openid"
	"holdfast.dev/holdfast/apiserver/etcd"
	"holdfast.dev/holdfast/apiserver/fieldownership"
	"holdfast.dev/holdfast/native"
)

// Config says where the server keeps its data and where it listens.
type Config struct {
	// DataDir holds everything the server keeps: etcd's data, certificates, the
	// admin kubeconfig. One server at a time.
	DataDir string
	// BindAddress is the IP address to listen on; empty is 127.0.0.1.
	BindAddress string
	// AdvertiseAddress is the IP address by which others reach the server; empty is
	// BindAddress, or for 127.0.0.1 and 0.0.0.0 the host's.
	AdvertiseAddress string
	// Port is the port to listen on; 0 picks a free one.
	Port int
	// Kubeconfig is where the admin kubeconfig is written; empty is
	// DataDir/admin.kubeconfig.
	Kubeconfig string
	// Anonymous says what requests without a credential may reach; empty is
	// health.
	Anonymous access.Anonymous
	// TokenFile holds bearer tokens that never expire, a line
	// token,user,uid,"group1,group2" each; empty is none.
	TokenFile string
	// OpenID lets in who has a token of an OpenID Connect provider.
	OpenID openid.Config
	// EncryptionConfig is a file with Kubernetes' EncryptionConfiguration; empty
	// stores objects as they are.
	EncryptionConfig string
	// Audit logs requests.
	Audit AuditConfig
	// ImmutabilityStatus is the HTTP status of a change that a marker of a custom
	// resource forbids: 400, which is also the meaning of 0, or 422 for tools that
	// recreate an object on that.
	ImmutabilityStatus int
	// Features are those of the built-in kinds, by native.NewFeatures; nil is as
	// they are by default.
	Features featuregate.FeatureGate
	// Ownership says what becomes of writes that change what apply owns:
	// "enforce-edit", which is also the meaning of "", warns and refuses edits,
	// "warn" warns, "off" says nothing.
	Ownership string
	// WithoutOperators leaves operator packages to others: their kinds, their
	// admission and their controller are not part of the server.
	WithoutOperators bool
	// EnableAdmission and DisableAdmission turn admission plugins on and off, by the names
	// that they have in Kubernetes.
	EnableAdmission, DisableAdmission []string
	// Etcd is the cluster to store objects in; without servers, an etcd member
	// inside this process is used.
	Etcd etcd.Cluster
}

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
	if c.AdvertiseAddress != "" {
		ip := net.ParseIP(c.AdvertiseAddress)
		if ip == nil || ip.IsUnspecified() || ip.IsLoopback() || ip.IsMulticast() || ip.IsLinkLocalUnicast() {
			return c, fmt.Errorf("advertise address %q: not an IP address that others could reach", c.AdvertiseAddress)
		}
	}
	if c.Port < 0 || c.Port > 65535 {
		return c, fmt.Errorf("port %d: must be between 0 and 65535", c.Port)
	}
	if c.ImmutabilityStatus == 0 {
		c.ImmutabilityStatus = http.StatusBadRequest
	}
	if c.ImmutabilityStatus != http.StatusBadRequest && c.ImmutabilityStatus != http.StatusUnprocessableEntity {
		return c, fmt.Errorf("immutability status %d: must be 400 or 422", c.ImmutabilityStatus)
	}
	if c.Features == nil {
		c.Features = native.NewFeatures()
	}
	if _, err := fieldownership.ParseMode(c.Ownership); err != nil {
		return c, err
	}
	if c.Kubeconfig == "" {
		c.Kubeconfig = filepath.Join(c.DataDir, "admin.kubeconfig")
	}
	if c.Anonymous == "" {
		c.Anonymous = access.AnonymousHealth
	}
	if (c.Etcd.CertFile == "") != (c.Etcd.KeyFile == "") {
		return c, errors.New("etcd client certificate: certificate and key belong together")
	}
	if len(c.Etcd.Servers) == 0 && (c.Etcd.CAFile != "" || c.Etcd.CertFile != "") {
		return c, errors.New("etcd certificates were given, but no etcd servers")
	}
	return c, nil
}
