package manager

import (
	"context"
	"crypto/tls"
)

// ReadInterval is readInterval, for tests.
const ReadInterval = readInterval

// KeepFiles reads the certificate of two files again and again until ctx ends. The function
// that it returns gives the current certificate.
func KeepFiles(ctx context.Context, cert, key string) (func() (*tls.Certificate, error), error) {
	kept, err := openFiles(cert, key)
	if err != nil {
		return nil, err
	}
	go kept.keep(ctx)
	return func() (*tls.Certificate, error) { return kept.certificate(nil) }, nil
}
