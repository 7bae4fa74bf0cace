package apiserver

import (
	"errors"
	"fmt"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/options"
)

// AuditConfig says which requests are logged, and where.
type AuditConfig struct {
	// PolicyFile holds an audit policy of Kubernetes; without one no request is logged.
	PolicyFile string
	// LogPath is the file of the log, "-" for stdout.
	LogPath string
	// Options has the other settings of the log, and those of the audit webhook. Its policy file
	// and log path are replaced by PolicyFile and LogPath. Nil means the defaults.
	Options *options.AuditOptions
}

// applyAudit makes the server log the requests that the policy names.
func applyAudit(config *genericapiserver.Config, audit AuditConfig) error {
	if audit.PolicyFile == "" {
		return nil
	}
	settings := audit.Options
	if settings == nil {
		settings = options.NewAuditOptions()
	}
	settings.PolicyFile, settings.LogOptions.Path = audit.PolicyFile, audit.LogPath
	if errs := settings.Validate(); len(errs) > 0 {
		return fmt.Errorf("audit: %w", errors.Join(errs...))
	}
	if err := settings.ApplyTo(config); err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	return nil
}
