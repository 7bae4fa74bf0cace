package apiserver

import (
	"fmt"

	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/anonymous"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/request/union"
	"k8s.io/apiserver/pkg/authentication/request/websocket"
	"k8s.io/apiserver/pkg/authentication/request/x509"
	tokenunion "k8s.io/apiserver/pkg/authentication/token/union"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"

	"holdfast.dev/holdfast/access"
	"holdfast.dev/holdfast/access/token"
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

// issuerName is who service-account tokens are from, and for whom when their
// request names no audience; Kubernetes installers use the same.
const issuerName = "https://kubernetes.default.svc.cluster.local"

// tokens make and check bearer tokens.
type tokens struct {
	requests *token.Requests
	check    authenticator.Token
}

// newTokens opens the key that signs service-account tokens, and the file of
// static ones if there is one.
func newTokens(pki *access.PKI, clients *clients, staticFile string) (*tokens, error) {
	key, err := pki.ServiceAccountKey()
	if err != nil {
		return nil, fmt.Errorf("service-account key: %w", err)
	}
	issuer, err := token.NewIssuer(issuerName, key)
	if err != nil {
		return nil, fmt.Errorf("service-account tokens: %w", err)
	}
	audiences := authenticator.Audiences{issuerName}
	core := clients.informers.Core().V1()
	objects := token.Objects{ServiceAccounts: core.ServiceAccounts().Lister(), Pods: core.Pods().Lister(), Client: clients.kube.CoreV1()}
	t := &tokens{
		requests: &token.Requests{Issuer: issuer, Objects: objects, Audiences: audiences},
		check:    token.NewAuthenticator(issuer, objects, audiences),
	}
	if staticFile == "" {
		return t, nil
	}
	static, err := token.NewStatic(staticFile, audiences)
	if err != nil {
		return nil, fmt.Errorf("token file: %w", err)
	}
	t.check = tokenunion.New(static, t.check)
	return t, nil
}

// applyAuthentication knows who shows a certificate of the authority, or a token.
func applyAuthentication(
	config *genericapiserver.Config, clientCA dynamiccertificates.CAContentProvider, tokens *tokens, strangers Anonymous,
) error {
	known := group.NewAuthenticatedGroupAdder(union.New(
		x509.NewDynamic(clientCA.VerifyOptions, x509.CommonNameUserConversion),
		bearertoken.New(tokens.check),
		websocket.NewProtocolAuthenticator(tokens.check),
	))
	config.Authentication.Authenticator = known
	if strangers != AnonymousNever {
		var conditions []apiserver.AnonymousAuthCondition
		if strangers == AnonymousHealth {
			for _, p := range healthPaths {
				conditions = append(conditions, apiserver.AnonymousAuthCondition{Path: p})
			}
		}
		config.Authentication.Authenticator = union.NewFailOnError(known, anonymous.NewAuthenticator(conditions))
	}
	config.Authentication.APIAudiences = tokens.requests.Audiences
	if err := config.Authentication.ApplyClientCert(clientCA, config.SecureServing); err != nil {
		return fmt.Errorf("authentication: %w", err)
	}
	return nil
}
