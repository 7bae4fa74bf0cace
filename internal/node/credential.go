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
	"sync"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"holdfast.dev/holdfast/internal/access"
	"holdfast.dev/holdfast/internal/access/walltime"
)

const (
	// A certificate is renewed after certificateRenewFraction of its lifetime, or up
	// to certificateJitter of that time later, so that not all nodes renew at once.
	certificateRenewFraction = 0.7
	certificateJitter        = 0.2
	// certificateSkew is how much later than now a certificate may begin. The clocks of server
	// and node may differ.
	certificateSkew = time.Minute
	// renewCheck is how often the agent looks whether a renewal is due.
	renewCheck = time.Minute
	// renewRetry is the delay after a renewal that failed.
	renewRetry        = 10 * time.Minute
	renewTimeout      = 15 * time.Minute
	renewPollInterval = 2 * time.Second
)

// Credential is the client certificate of a node. It is stored in a file that Run
// replaces before the certificate expires; clients that use this file load the new
// certificate by themselves. A Credential holds the lock of its root directory until
// it is closed, because only one agent may use the directory and the certificate.
type Credential struct {
	name, root, file string
	// given is the certificate of the kubeconfig, and givenText its file.
	given     *x509.Certificate
	givenText []byte
	clock     clock.WithTicker
	lock      *rootLock
}

// KeepCredential saves the client certificate of config to a file below the root and
// changes config to use that file. If the file already holds a certificate of the
// same node and authority that expires later and has begun, the file stays as it is. If config has
// no client certificate, KeepCredential changes nothing and returns nil: there is
// nothing to renew.
func KeepCredential(config *rest.Config, claim Claim) (*Credential, error) {
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
	if err := checkSubject(given.Leaf.Subject.CommonName, claim.Name); err != nil {
		return nil, err
	}
	if claim.Root, err = absoluteRoot(claim.Root); err != nil {
		return nil, err
	}
	c := &Credential{
		name: claim.Name, root: claim.Root, file: filepath.Join(claim.Root, "credential", "client.pem"), clock: clock.RealClock{},
		given: given.Leaf, givenText: bytes.Join([][]byte{cert, key}, []byte("\n")),
	}
	if c.lock, err = lockRoot(claim); err != nil {
		return nil, err
	}
	if err := c.saveUnlessNewer(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	config.CertData, config.KeyData = nil, nil
	config.CertFile, config.KeyFile = c.file, c.file
	return c, nil
}

// saveUnlessNewer saves the given certificate, unless the file already holds it or a
// renewed one. It writes nothing then, because the root may be full.
func (c *Credential) saveUnlessNewer() error {
	if err := os.MkdirAll(filepath.Dir(c.file), 0o700); err != nil {
		return err
	}
	if kept, err := os.ReadFile(c.file); err == nil && bytes.Equal(kept, c.givenText) {
		return nil
	}
	kept, err := tls.LoadX509KeyPair(c.file, c.file)
	switch {
	case err == nil && renews(kept.Leaf, c.given) && !c.isBetter(kept.Leaf):
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		klog.ErrorS(err, "the certificate is replaced by that of the kubeconfig", "file", c.file)
	}
	return save(c.file, c.givenText)
}

// isBetter reports whether the given certificate is valid, and the one in the file has not begun. The clock was then set back since the
// renewal, and the server does not accept the certificate in the file yet.
func (c *Credential) isBetter(kept *x509.Certificate) bool {
	now := c.clock.Now()
	return now.Add(certificateSkew).Before(kept.NotBefore) && !now.Add(certificateSkew).Before(c.given.NotBefore) && now.Before(c.given.NotAfter)
}

// renews reports whether kept is a certificate of the same node and cluster as
// given, and expires later. The certificate authorities of all clusters have the
// same name, so it compares their keys.
func renews(kept, given *x509.Certificate) bool {
	return kept.Subject.String() == given.Subject.String() && kept.Issuer.String() == given.Issuer.String() &&
		bytes.Equal(kept.AuthorityKeyId, given.AuthorityKeyId) && kept.NotAfter.After(given.NotAfter)
}

// Close releases the lock of the root directory. Run must have ended before. Close
// of a nil Credential does nothing.
func (c *Credential) Close() error {
	if c == nil {
		return nil
	}
	return c.lock.Close()
}

// hasLock reports whether the credential holds the lock of a root directory.
func (c *Credential) hasLock(root string) bool { return c != nil && c.root == root }

// checkSubject returns an error if the certificate belongs to another node or to a
// user. With the certificate of another node, the server would reject the requests
// of the agent. The certificate of a user may have too many rights.
func checkSubject(user, name string) error {
	want := access.NodeSubject(name).User
	if user == want {
		return nil
	}
	prefix := strings.TrimSuffix(want, name)
	if other, isNode := strings.CutPrefix(user, prefix); isNode {
		return fmt.Errorf("the credential is that of node %s, and this is the agent of node %s: "+
			"give --name %[1]s, or get another with \"holdfast kubeconfig --node %[2]s\"", other, name)
	}
	return fmt.Errorf("the credential is that of user %s, and the agent of node %s needs that of its node: "+
		"get it with \"holdfast kubeconfig --node %[2]s\"", user, name)
}

// Run renews the certificate whenever it is due, until ctx ends. After the clock was set, it looks
// at the certificate at once.
func (c *Credential) Run(ctx context.Context, client kubernetes.Interface) {
	set := make(chan struct{}, 1)
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() {
		walltime.Watch(ctx, func(time.Duration) {
			select {
			case set <- struct{}{}:
			default:
			}
		})
	})
	for {
		due, err := c.renewal()
		if err == nil && !c.clock.Now().Before(due) {
			err = c.explain(c.renew(ctx, client))
		}
		if err != nil {
			klog.FromContext(ctx).Error(err, "the certificate is not renewed; will be tried again", "node", c.name)
			due = c.clock.Now().Add(renewRetry)
		}
		if !c.waitUntil(ctx, due, set) {
			return
		}
	}
}

// waitUntil waits until a time, or until the clock was set. It returns false if ctx ends before.
// It looks at the clock every renewCheck: a timer does not notice that the machine was suspended.
func (c *Credential) waitUntil(ctx context.Context, due time.Time, set <-chan struct{}) bool {
	for {
		select {
		case <-ctx.Done():
			return false
		case <-set:
			return true
		case <-c.clock.After(min(due.Sub(c.clock.Now()), renewCheck)):
		}
		if !c.clock.Now().Before(due) {
			return true
		}
	}
}

// renewal returns when the certificate has to be renewed. If the certificate has not begun, it first
// takes the given one again.
func (c *Credential) renewal() (time.Time, error) {
	pair, err := tls.LoadX509KeyPair(c.file, c.file)
	if err != nil {
		return time.Time{}, err
	}
	leaf := pair.Leaf
	if c.isBetter(leaf) {
		leaf = c.given
		if err := save(c.file, c.givenText); err != nil {
			return time.Time{}, err
		}
	}
	life := leaf.NotAfter.Sub(leaf.NotBefore)
	use := wait.Jitter(time.Duration(float64(life)*certificateRenewFraction), certificateJitter)
	return leaf.NotBefore.Add(use), nil
}

// leaf returns the certificate in the file. It returns nil for a nil Credential, and if the file cannot be
// read.
func (c *Credential) leaf() *x509.Certificate {
	if c == nil {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(c.file, c.file)
	if err != nil {
		return nil
	}
	return pair.Leaf
}

// expires returns when the certificate expires. It returns false if there is none.
func (c *Credential) expires() (time.Time, bool) {
	leaf := c.leaf()
	if leaf == nil {
		return time.Time{}, false
	}
	return leaf.NotAfter, true
}

// explain adds to the error of a request that the server rejected the certificate because it has
// expired or not begun. The server itself only says that the request is not authorized.
func (c *Credential) explain(err error) error {
	if !apierrors.IsUnauthorized(err) {
		return err
	}
	leaf := c.leaf()
	if leaf == nil {
		return err
	}
	switch now := c.clock.Now(); {
	case now.After(leaf.NotAfter):
		return fmt.Errorf("%w: the client certificate of the node expired at %s; get another one with \"holdfast kubeconfig --node %s\", "+
			"and restart the agent with it", err, leaf.NotAfter.UTC().Format(time.RFC3339), c.name)
	case now.Before(leaf.NotBefore):
		return fmt.Errorf("%w: the client certificate of the node begins at %s; set the clock of this machine",
			err, leaf.NotBefore.UTC().Format(time.RFC3339))
	}
	return err
}

// renew requests a certificate for a new key and replaces the old file with it.
func (c *Credential) renew(ctx context.Context, client kubernetes.Interface) error {
	pair, err := access.Enrollment{
		Subject: access.NodeSubject(c.name), Signer: certificatesv1.KubeAPIServerClientKubeletSignerName,
		Prefix: "node-", Poll: renewPollInterval, Limit: renewTimeout,
	}.Enroll(ctx, client)
	if err != nil {
		return err
	}
	return save(c.file, bytes.Join([][]byte{pair.Cert, pair.Key}, []byte("\n")))
}
