package access

import (
	"fmt"

	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/request/anonymous"
)

// Anonymous says what requests without a credential reach. The zero value is
// AnonymousHealth. It is a flag.Value, of pflag too.
type Anonymous string

const (
	// AnonymousHealth lets them ask for the server's health and nothing else.
	AnonymousHealth Anonymous = "health"
	// AnonymousNever refuses them.
	AnonymousNever Anonymous = "false"
	// AnonymousAlways lets them in as system:anonymous, of the group
	// system:unauthenticated, for what bindings give those.
	AnonymousAlways Anonymous = "true"
)

// HealthPaths are what a load balancer without a credential may ask. They match
// as they are: what is below them tells more, and is not for everybody.
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

// authenticator is what answers for requests without a credential, or nil.
func (a Anonymous) authenticator() authenticator.Request {
	switch a {
	case AnonymousNever:
		return nil
	case AnonymousAlways:
		return anonymous.NewAuthenticator(nil)
	}
	var conditions []apiserver.AnonymousAuthCondition
	for _, path := range HealthPaths() {
		conditions = append(conditions, apiserver.AnonymousAuthCondition{Path: path})
	}
	return anonymous.NewAuthenticator(conditions)
}
