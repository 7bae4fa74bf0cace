package apiserver

import (
	"fmt"

	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/authorization/path"
	"k8s.io/apiserver/pkg/authorization/union"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
)

// healthPaths are what a load balancer without a credential may ask.
var healthPaths = []string{"/healthz", "/livez", "/readyz"}

// applyAccess lets in who shows a certificate of the authority, and only the
// administrators among them; health endpoints are open to anybody.
func applyAccess(config *genericapiserver.Config, clientCA dynamiccertificates.CAContentProvider) error {
	anonymous := &apiserver.AnonymousAuthConfig{Enabled: true}
	for _, p := range healthPaths {
		anonymous.Conditions = append(anonymous.Conditions, apiserver.AnonymousAuthCondition{Path: p})
	}
	authenticator, definitions, err := authenticatorfactory.DelegatingAuthenticatorConfig{
		Anonymous:                          anonymous,
		ClientCertificateCAContentProvider: clientCA,
	}.New()
	if err != nil {
		return fmt.Errorf("authentication: %w", err)
	}
	if err := config.Authentication.ApplyClientCert(clientCA, config.SecureServing); err != nil {
		return fmt.Errorf("authentication: %w", err)
	}
	config.Authentication.Authenticator = authenticator
	if config.OpenAPIConfig != nil {
		config.OpenAPIConfig.SecurityDefinitions = definitions
	}
	health, err := path.NewAuthorizer(healthPaths)
	if err != nil {
		return fmt.Errorf("authorization: %w", err)
	}
	config.Authorization.Authorizer, err = union.New(
		union.NamedAuthorizer{AuthorizerName: "administrators", Authorizer: authorizerfactory.NewPrivilegedGroups(user.SystemPrivilegedGroup)},
		union.NamedAuthorizer{AuthorizerName: "health", Authorizer: health},
	)
	if err != nil {
		return fmt.Errorf("authorization: %w", err)
	}
	return nil
}
