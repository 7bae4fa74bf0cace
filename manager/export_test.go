package manager

import (
	"context"
	"crypto/tls"
)

// ReadInterval is readInterval, for tests.
const ReadInterval = readInterval

// KeepFiles reads the certificate in two files every ReadInterval until ctx ends. It returns
// a function that returns the current certificate.
func KeepFiles(ctx context.Context, cert, key string) (func() (*tls.Certificate, error), error) {
	kept, err := openFiles(cert, key)
	if err != nil {
		return nil, err
	}
	go kept.keep(ctx)
	return func() (*tls.Certificate, error) { return kept.certificate(nil) }, nil
}
