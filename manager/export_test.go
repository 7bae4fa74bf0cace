package manager

import (
	"context"
	"crypto/tls"
)

// ReadEvery is for tests.
const ReadEvery = readEvery

// KeepFiles keeps the certificate of two files until ctx ends, and gives the way to
// the one that is shown.
func KeepFiles(ctx context.Context, cert, key string) (func() (*tls.Certificate, error), error) {
	kept, err := openFiles(cert, key)
	if err != nil {
		return nil, err
	}
	go kept.keep(ctx)
	return func() (*tls.Certificate, error) { return kept.certificate(nil) }, nil
}
