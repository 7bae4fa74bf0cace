package access

import (
	"fmt"

	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/request/anonymous"
)

// Anonymous selects what a request without a credential may do. The zero value
// means AnonymousHealth. *Anonymous implements flag.Value and pflag.Value.
type Anonymous string

const (
	// AnonymousHealth accepts such requests on HealthPaths, and on the public paths of the
	// server, and rejects all others.
	AnonymousHealth Anonymous = "health"
	// AnonymousNever rejects all such requests.
	AnonymousNever Anonymous = "false"
	// AnonymousAlways accepts them all as user system:anonymous in the group
	// system:unauthenticated. RBAC bindings decide what that user may do.
	AnonymousAlways Anonymous = "true"
)

// HealthPaths returns the paths that clients without a credential, such as load
// balancers, may read. Each path matches exactly. Subpaths such as /readyz/etcd
// report more detail and need a credential.
func HealthPaths() []string { return []string{"/healthz", "/livez", "/readyz"} }

// Set implements flag.Value.
func (a *Anonymous) Set(value string) error {
	switch mode := Anonymous(value); mode {
	case AnonymousHealth, AnonymousNever, AnonymousAlways:
		*a = mode
		return nil
	}
	return fmt.Errorf("%q is none of health, false, true", value)
}

// String implements flag.Value.
func (a *Anonymous) String() string {
	if *a == "" {
		return string(AnonymousHealth)
	}
	return string(*a)
}

// Type implements pflag.Value.
func (a *Anonymous) Type() string { return "health|false|true" }

// authenticator returns the authenticator for requests without a credential, or
// nil if all such requests are rejected.
func (a Anonymous) authenticator(public []string) authenticator.Request {
	switch a {
	case AnonymousNever:
		return nil
	case AnonymousAlways:
		return anonymous.NewAuthenticator(nil)
	}
	var conditions []apiserver.AnonymousAuthCondition
	for _, path := range append(HealthPaths(), public...) {
		conditions = append(conditions, apiserver.AnonymousAuthCondition{Path: path})
	}
	return anonymous.NewAuthenticator(conditions)
}
