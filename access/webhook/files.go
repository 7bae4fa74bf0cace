package webhook

import (
	"context"
	"crypto/tls"
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"
)

// readInterval is the interval at which the files are read again.
const readInterval = time.Minute

// fileKeys is a certificate in two files.
type fileKeys struct {
	cert, key string
	current   atomic.Pointer[tls.Certificate]
}

// OpenFiles returns the certificate in two files, which another program may renew.
func OpenFiles(cert, key string) (Keys, error) {
	kept := &fileKeys{cert: cert, key: key}
	return kept, kept.read()
}

func (k *fileKeys) read() error {
	pair, err := tls.LoadX509KeyPair(k.cert, k.key)
	if err != nil {
		return fmt.Errorf("certificate of the webhook, %s with key %s: %w", k.cert, k.key, err)
	}
	k.current.Store(&pair)
	return nil
}

// Certificate implements Keys.
func (k *fileKeys) Certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return k.current.Load(), nil
}

// Keep implements Keys. It reads the files every readInterval until ctx ends. If they are not valid, for example
// while they are being replaced, the last certificate stays in use.
func (k *fileKeys) Keep(ctx context.Context) {
	ticker := time.NewTicker(readInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if err := k.read(); err != nil {
			klog.ErrorS(err, "the last certificate stays in use")
		}
	}
}
