package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"time"

	"k8s.io/klog/v2"
)

// readInterval is the interval at which the files are read again.
const readInterval = 5 * time.Second

// Files are a certificate and its key in two files, which another program may renew.
type Files struct {
	Cert, Key string
	Acceptance
}

// fileKeys is the certificate in two files.
type fileKeys struct {
	cert, key string
	adoption
}

// Open reads the certificate.
func (f Files) Open() (Keys, error) {
	kept := &fileKeys{cert: f.Cert, key: f.Key, adoption: adoption{Acceptance: f.Acceptance}}
	pair, err := kept.read()
	if err != nil {
		return nil, err
	}
	kept.current.Store(pair)
	return kept, nil
}

func (k *fileKeys) read() (*tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(k.cert, k.key)
	if err != nil {
		return nil, fmt.Errorf("certificate of the webhook, %s with key %s: %w", k.cert, k.key, err)
	}
	return &pair, nil
}

// Keep implements Keys. It reads the files every readInterval until ctx ends, and uses a new certificate when the API server
// accepts it. If the files are not valid, for example while they are being replaced, the last certificate stays in use.
func (k *fileKeys) Keep(ctx context.Context) {
	files, accepts := time.NewTicker(readInterval), time.NewTicker(acceptInterval)
	defer files.Stop()
	defer accepts.Stop()
	var waiting *tls.Certificate
	for {
		select {
		case <-ctx.Done():
			return
		case <-accepts.C:
		case <-files.C:
			read, err := k.read()
			if err != nil {
				klog.ErrorS(err, "the last certificate stays in use")
				continue
			}
			if waiting == nil || !bytes.Equal(waiting.Certificate[0], read.Certificate[0]) {
				waiting, k.acceptedSince = read, time.Time{}
			}
		}
		if waiting != nil && k.adopt(ctx, waiting) {
			waiting = nil
		}
	}
}
