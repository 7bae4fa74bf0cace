package node

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"holdfast.dev/holdfast/access"
)

const (
	// A certificate is renewed when this part of its life is over, a little
	// earlier or later by chance.
	certificateUse    = 0.7
	certificateSpread = 0.2
	// renewRetry is when a renewal that did not work is tried again.
	renewRetry = 10 * time.Minute
	renewLimit = 15 * time.Minute
	renewPoll  = 2 * time.Second
)

// Credential is the client certificate of a node, in a file that is replaced
// before it expires. Clients of the configuration that it was put into take up
// the new one by themselves. It has the lock of its root until it is closed: the
// certificate is that of the one agent that runs there.
type Credential struct {
	name, root, file string
	clock            clock.WithTicker
	lock             *rootLock
}

// KeepCredential puts the certificate of a configuration into a file under the
// root and has the configuration use that. A certificate of the same authority
// that is there already and lasts longer stays. A configuration without one is
// left as it is, and the credential is nil: there is nothing to renew.
func KeepCredential(config *rest.Config, name, root string) (*Credential, error) {
	cert, key := config.CertData, config.KeyData
	var err error
	if len(cert) == 0 && config.CertFile != "" {
		if cert, err = os.ReadFile(config.CertFile); err != nil {
			return nil, err
		}
	}
	if len(key) == 0 && config.KeyFile != "" {
		if key, err = os.ReadFile(config.KeyFile); err != nil {
			return nil, err
		}
	}
	if len(cert) == 0 || len(key) == 0 {
		return nil, nil
	}
	given, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("client certificate: %w", err)
	}
	if err := checkHolder(given.Leaf.Subject.CommonName, name); err != nil {
		return nil, err
	}
	c := &Credential{name: name, root: root, file: filepath.Join(root, "credential", "client.pem"), clock: clock.RealClock{}}
	if c.lock, err = lockRoot(root); err != nil {
		return nil, err
	}
	if err := c.keep(given, bytes.Join([][]byte{cert, key}, []byte("\n"))); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	config.CertData, config.KeyData = nil, nil
	config.CertFile, config.KeyFile = c.file, c.file
	return c, nil
}

// keep saves the certificate that was given, unless a later one of it is there.
func (c *Credential) keep(given tls.Certificate, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(c.file), 0o700); err != nil {
		return err
	}
	kept, err := tls.LoadX509KeyPair(c.file, c.file)
	switch {
	case err == nil && follows(kept.Leaf, given.Leaf):
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		klog.ErrorS(err, "the certificate is replaced by that of the kubeconfig", "file", c.file)
	}
	return save(c.file, text)
}

// follows reports whether a certificate is a later one for the same node of the
// same cluster. The authorities of all clusters have one name, so it is their key
// that tells.
func follows(kept, given *x509.Certificate) bool {
	return kept.Subject.String() == given.Subject.String() && kept.Issuer.String() == given.Issuer.String() &&
		bytes.Equal(kept.AuthorityKeyId, given.AuthorityKeyId) && kept.NotAfter.After(given.NotAfter)
}

// Close gives the lock of the root back. Nothing may be renewed afterwards.
func (c *Credential) Close() error {
	if c == nil {
		return nil
	}
	return c.lock.Close()
}

// holds reports whether the credential has the lock of a root.
func (c *Credential) holds(root string) bool { return c != nil && c.root == root }

// checkHolder refuses the certificate of anybody but the node: with it the agent
// would be refused everything, or allowed too much.
func checkHolder(user, name string) error {
	want := access.NodeSubject(name).User
	if user == want {
		return nil
	}
	prefix := strings.TrimSuffix(want, name)
	if other, isNode := strings.CutPrefix(user, prefix); isNode {
		return fmt.Errorf("the credential is that of node %s, and this is the agent of node %s: give --name %[1]s, or get another with \"holdfast kubeconfig --node %[2]s\"", other, name)
	}
	return fmt.Errorf("the credential is that of user %s, and the agent of node %s needs that of its node: get it with \"holdfast kubeconfig --node %[2]s\"", user, name)
}

// Run renews the certificate, each time before it expires, until ctx ends.
func (c *Credential) Run(ctx context.Context, client kubernetes.Interface) {
	for {
		left, err := c.left()
		if err == nil && left <= 0 {
			err = c.renew(ctx, client)
		}
		if err != nil {
			klog.FromContext(ctx).Error(err, "the certificate is not renewed; will be tried again", "node", c.name)
			left = renewRetry
		}
		select {
		case <-ctx.Done():
			return
		case <-c.clock.After(left):
		}
	}
}

// left is how long the certificate is still used.
func (c *Credential) left() (time.Duration, error) {
	pair, err := tls.LoadX509KeyPair(c.file, c.file)
	if err != nil {
		return 0, err
	}
	life := pair.Leaf.NotAfter.Sub(pair.Leaf.NotBefore)
	use := wait.Jitter(time.Duration(float64(life)*certificateUse), certificateSpread)
	return pair.Leaf.NotBefore.Add(use).Sub(c.clock.Now()), nil
}

// renew asks for a certificate with a new key and puts it in place of the old.
func (c *Credential) renew(ctx context.Context, client kubernetes.Interface) error {
	pair, err := access.Enrollment{
		Subject: access.NodeSubject(c.name), Signer: certificatesv1.KubeAPIServerClientKubeletSignerName,
		Prefix: "node-", Poll: renewPoll, Limit: renewLimit,
	}.Enroll(ctx, client)
	if err != nil {
		return err
	}
	return save(c.file, bytes.Join([][]byte{pair.Cert, pair.Key}, []byte("\n")))
}
