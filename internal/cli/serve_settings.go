package cli

import (
	"cmp"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/server/options"
	"k8s.io/component-base/featuregate"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/config"
	"holdfast.dev/holdfast/internal/native"
)

// serveSettings are the values of the flags of serve.
type serveSettings struct {
	config apiserver.Config
	// file is a file with the values of flags.
	file string
	// features is config.Features in the form that flags can change.
	features  featuregate.MutableFeatureGate
	audit     *options.AuditOptions
	log       logSettings
	operators bool
	// certDir is the directory of the serving certificate in kube-apiserver.
	certDir       string
	authorization []string
	addresses     string
	runtime       map[string]string
}

func newServeSettings() *serveSettings {
	s := &serveSettings{features: native.NewFeatures(), audit: options.NewAuditOptions()}
	s.config.Features = s.features
	s.audit.LogOptions.Path = "-"
	return s
}

// complete returns the configuration of the server.
func (s *serveSettings) complete() (apiserver.Config, error) {
	completed := s.config
	completed.WithoutOperators = !s.operators
	completed.Revision = revision(version, cmp.Or(linkedCommit, moduleVersion()))
	completed.Audit = config.Audit{PolicyFile: s.audit.PolicyFile, LogPath: s.audit.LogOptions.Path, Options: s.audit}
	if err := checkAuthorization(s.authorization); err != nil {
		return completed, err
	}
	if err := checkRuntime(s.runtime); err != nil {
		return completed, err
	}
	if s.addresses != "" {
		addresses, err := netip.ParsePrefix(s.addresses)
		if err != nil {
			return completed, fmt.Errorf("--service-cluster-ip-range %q: must be one range of IPv4 addresses", s.addresses)
		}
		completed.Services.Addresses = addresses
	}
	if err := s.useCertDir(&completed); err != nil {
		return completed, err
	}
	if completed.DataDir != "" {
		return completed, nil
	}
	dir, err := defaultDataDir()
	completed.DataDir = dir
	return completed, err
}

// useCertDir takes the serving certificate from --cert-dir, where kube-apiserver finds it. Without
// --data-dir, the data is in a directory below.
func (s *serveSettings) useCertDir(config *apiserver.Config) error {
	if s.certDir == "" {
		return nil
	}
	if config.DataDir == "" {
		config.DataDir = filepath.Join(s.certDir, "holdfast")
	}
	if config.Serving.CertFile != "" {
		return nil
	}
	cert, key := filepath.Join(s.certDir, "apiserver.crt"), filepath.Join(s.certDir, "apiserver.key")
	for _, file := range []string{cert, key} {
		if _, err := os.Stat(file); os.IsNotExist(err) {
			return nil
		} else if err != nil {
			return fmt.Errorf("--cert-dir: %w", err)
		}
	}
	config.Serving.CertFile, config.Serving.KeyFile = cert, key
	return nil
}

// checkAuthorization refuses a mode that the server does not have. Node and RBAC are always on.
func checkAuthorization(modes []string) error {
	for _, mode := range modes {
		if mode != "RBAC" && mode != "Node" {
			return fmt.Errorf("--authorization-mode %q: must be RBAC or Node,RBAC", mode)
		}
	}
	if !slices.Contains(modes, "RBAC") {
		return fmt.Errorf("--authorization-mode %q: RBAC is always on and must be among them", modes)
	}
	return nil
}

// checkRuntime refuses to turn off an API, and to turn on one that the server does not have. The
// server always serves all APIs that it has.
func checkRuntime(apis map[string]string) error {
	for api, on := range apis {
		if !isServed(api) {
			return fmt.Errorf("--runtime-config %s: the server does not have this API; \"holdfast api-versions\" lists those it has", api)
		}
		// An API that is off in Kubernetes by default, and off here, may be turned off.
		if on == "false" && api != "api/alpha" && api != "api/beta" {
			return fmt.Errorf("--runtime-config %s=false: no API can be turned off here", api)
		}
		if on != "true" && on != "false" && on != "" {
			return fmt.Errorf("--runtime-config %s=%s: must be true or false", api, on)
		}
	}
	return nil
}

// isServed reports whether the server has an API, in the words of kube-apiserver: group/version, or one of the names
// for several APIs.
func isServed(api string) bool {
	if slices.Contains([]string{"api/all", "api/ga", "api/beta", "api/alpha", "api/legacy", "api/v1"}, api) {
		return true
	}
	// A value may name one resource of a version.
	parts := strings.Split(api, "/")
	if len(parts) == 3 {
		api = parts[0] + "/" + parts[1]
	}
	version, err := schema.ParseGroupVersion(api)
	if err != nil {
		return false
	}
	return version.Group == apiextensionsv1.GroupName && (version.Version == "v1" || version.Version == "v1beta1") ||
		native.NewPublishedScheme().IsVersionRegistered(version)
}
