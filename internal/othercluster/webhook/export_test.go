package webhook

import (
	"context"
	"crypto/tls"
)

// ReadInterval is readInterval, for tests.
const ReadInterval = readInterval

// KeepFiles reads the certificate in two files every ReadInterval until ctx ends. It returns
// a function that returns the current certificate.
func KeepFiles(ctx context.Context, cert, key string) (func() (*tls.Certificate, error), error) {
	kept, err := Files{Cert: cert, Key: key}.Open()
	if err != nil {
		return nil, err
	}
	go kept.Keep(ctx)
	return func() (*tls.Certificate, error) { return kept.Certificate(nil) }, nil
}
