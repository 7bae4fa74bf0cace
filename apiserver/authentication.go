package apiserver

import (
	"fmt"

	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
)

// Anonymous says what requests without a credential may reach.
type Anonymous string

const (
	// AnonymousHealth lets them ask for health; it is the default.
	AnonymousHealth Anonymous = "health"
	// AnonymousNever refuses all of them.
	AnonymousNever Anonymous = "false"
	// AnonymousAlways takes them for the user system:anonymous, who may do what
	// roles allow that user and the group system:unauthenticated.
	AnonymousAlways Anonymous = "true"
)

// healthPaths are what a load balancer without a credential may ask.
var healthPaths = []string{"/healthz", "/livez", "/readyz"}

// applyAuthentication knows who shows a certificate of the authority.
func applyAuthentication(config *genericapiserver.Config, clientCA dynamiccertificates.CAContentProvider, anonymous Anonymous) error {
	settings := &apiserver.AnonymousAuthConfig{Enabled: anonymous != AnonymousNever}
	if anonymous == AnonymousHealth {
		for _, p := range healthPaths {
			settings.Conditions = append(settings.Conditions, apiserver.AnonymousAuthCondition{Path: p})
		}
	}
	authenticator, definitions, err := authenticatorfactory.DelegatingAuthenticatorConfig{
		Anonymous:                          settings,
		ClientCertificateCAContentProvider: clientCA,
	}.New()
	if err != nil {
		return fmt.Errorf("authentication: %w", err)
	}
	if err := config.Authentication.ApplyClientCert(clientCA, config.SecureServing); err != nil {
		return fmt.Errorf("authentication: %w", err)
	}
	config.Authentication.Authenticator = authenticator
	config.OpenAPIConfig.SecurityDefinitions = definitions
	return nil
}
