package identity

import (
	"crypto"
	"fmt"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/util/keyutil"

	"holdfast.dev/holdfast/internal/access/token"
	"holdfast.dev/holdfast/internal/apiserver/start"
)

// newIssuer returns the issuer of service-account tokens, with its keys.
func newIssuer(b start.Base) (*token.Issuer, error) {
	config := b.Config.ServiceAccounts
	key, err := signingKey(b)
	if err != nil {
		return nil, fmt.Errorf("service-account key: %w", err)
	}
	var others []crypto.PublicKey
	for _, file := range config.KeyFiles {
		keys, err := keyutil.PublicKeysFromFile(file)
		if err != nil {
			return nil, fmt.Errorf("service-account key %s: %w", file, err)
		}
		for _, key := range keys {
			others = append(others, key)
		}
	}
	issuer, err := token.NewIssuer(config.Issuers[0], key, others...)
	if err != nil {
		return nil, fmt.Errorf("service-account tokens: %w", err)
	}
	return issuer.Accepting(config.Issuers[1:]...), nil
}

// signingKey returns the key of the file in the configuration, or that of the data directory.
func signingKey(b start.Base) (crypto.Signer, error) {
	file := b.Config.ServiceAccounts.SigningKeyFile
	if file == "" {
		return b.PKI.ServiceAccountKey()
	}
	parsed, err := keyutil.PrivateKeyFromFile(file)
	if err != nil {
		return nil, err
	}
	key, ok := parsed.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("%s: the key cannot sign", file)
	}
	return key, nil
}

// ServeIssuer publishes the documents with which other services verify the tokens of
// service accounts. A client needs a role to read them.
func (s Stage) ServeIssuer(b start.Base, server *genericapiserver.GenericAPIServer) error {
	url := b.Config.ServiceAccounts.KeysURL
	if url == "" {
		url = b.URL() + token.KeysPath
	}
	configuration, err := s.TokenRequests.Issuer.Configuration(url)
	if err != nil {
		return fmt.Errorf("service-account issuer: %w", err)
	}
	keys, err := s.TokenRequests.Issuer.Keys()
	if err != nil {
		return fmt.Errorf("service-account issuer: %w", err)
	}
	server.Handler.NonGoRestfulMux.Handle(token.ConfigurationPath, configuration)
	server.Handler.NonGoRestfulMux.Handle(token.KeysPath, keys)
	return nil
}
