package node_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"holdfast.dev/holdfast/internal/access"
	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/node"
	"holdfast.dev/holdfast/internal/waittest"
)

// approve approves all certificate signing requests of a node until the test ends.
func (c *cluster) approve(t *testing.T, name string) {
	t.Helper()
	requests := c.admin.CertificatesV1().CertificateSigningRequests()
	events, err := requests.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for event := range events.ResultChan() {
			request, ok := event.Object.(*certificatesv1.CertificateSigningRequest)
			if !ok || request.Spec.Username != "system:node:"+name || len(request.Status.Conditions) > 0 {
				continue
			}
			request.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{
				Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Test",
			}}
			// The server may have approved the request a moment before; ignore the conflict.
			_, _ = requests.UpdateApproval(t.Context(), request.Name, request, metav1.UpdateOptions{})
		}
	}()
}

// TestCredentialRenewed checks that a node renews its certificate with the current one, and
// still uses the new one after a restart.
func TestCredentialRenewed(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	config := c.credential(t, "n1")
	given := rest.CopyConfig(config)
	root := t.TempDir()
	name := "n1" + c.suffix
	credential, err := node.KeepCredential(config, node.Claim{Name: name, Root: root})
	if err != nil {
		t.Fatal(err)
	}
	if len(config.CertData)+len(config.KeyData) > 0 || config.CertFile == "" {
		t.Fatal("the configuration does not use the file")
	}
	load := func() tls.Certificate {
		t.Helper()
		pair, err := tls.LoadX509KeyPair(config.CertFile, config.KeyFile)
		if err != nil {
			t.Fatal(err)
		}
		return pair
	}
	before := load()
	c.approve(t, name)
	if err := credential.Renew(t.Context(), kubernetes.NewForConfigOrDie(config)); err != nil {
		t.Fatal(err)
	}
	after := load()
	if after.Leaf.Subject.CommonName != "system:node:"+name || after.Leaf.SerialNumber.Cmp(before.Leaf.SerialNumber) == 0 {
		t.Errorf("renewed for %s, serial %v", after.Leaf.Subject, after.Leaf.SerialNumber)
	}
	if err := credential.Close(); err != nil {
		t.Error(err)
	}
	// After a restart the node can use the API with the new certificate.
	again := rest.CopyConfig(given)
	credential, err = node.KeepCredential(again, node.Claim{Name: name, Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = credential.Close() }()
	client := kubernetes.NewForConfigOrDie(again)
	if _, err := client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{FieldSelector: "spec.nodeName=" + name}); err != nil {
		t.Error(err)
	}
	kept := load()
	if after.Leaf.NotAfter.After(before.Leaf.NotAfter) && kept.Leaf.SerialNumber.Cmp(after.Leaf.SerialNumber) != 0 {
		t.Error("the newer certificate did not stay")
	}
	// A configuration without a certificate has no credential.
	if kept, err := node.KeepCredential(&rest.Config{BearerToken: "x"}, node.Claim{Name: name, Root: t.TempDir()}); kept != nil || err != nil {
		t.Errorf("a token: %v, %v", kept, err)
	}
}

// TestCredentialRejected checks that KeepCredential accepts only a valid certificate of the
// node itself, and creates no files otherwise.
func TestCredentialRejected(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	name := "n1" + c.suffix
	tests := map[string]struct {
		config *rest.Config
		name   string
		want   string
	}{
		"another node": {
			c.credential(t, "n1"), "n2",
			"the credential is that of node " + name + ", and this is the agent of node n2: " +
				"give --name " + name + `, or get another with "holdfast kubeconfig --node n2"`,
		},
		"a user": {
			c.Config(t), "n1",
			"the credential is that of user holdfast-admin, and the agent of node n1 needs that of its node: " +
				`get it with "holdfast kubeconfig --node n1"`,
		},
		"no file": {&rest.Config{TLSClientConfig: rest.TLSClientConfig{CertFile: "/none"}}, "n1", "open /none: no such file or directory"},
		"no certificate": {
			&rest.Config{TLSClientConfig: rest.TLSClientConfig{CertData: []byte("x"), KeyData: []byte("y")}}, "n1",
			"client certificate: tls: failed to find any PEM data in certificate input",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			root := filepath.Join(t.TempDir(), "root")
			_, err := node.KeepCredential(test.config, node.Claim{Name: test.name, Root: root})
			if err == nil || err.Error() != test.want {
				t.Errorf("%v\nwant %s", err, test.want)
			}
			if _, err := os.Stat(root); !os.IsNotExist(err) {
				t.Errorf("something was left in %s: %v", root, err)
			}
		})
	}
}

// TestCredentialOfAnotherCluster checks that a certificate of the same cluster stays if it
// expires later than the given one, and that a certificate of another cluster is replaced.
func TestCredentialOfAnotherCluster(t *testing.T) {
	before, now, root := t.TempDir(), t.TempDir(), t.TempDir()
	// keep calls KeepCredential with a certificate and returns the certificate in the file.
	keep := func(given rest.TLSClientConfig) []byte {
		t.Helper()
		config := &rest.Config{TLSClientConfig: given}
		credential, err := node.KeepCredential(config, node.Claim{Name: "n1", Root: root})
		if err != nil {
			t.Fatal(err)
		}
		kept, err := os.ReadFile(config.CertFile)
		if err := errors.Join(err, credential.Close()); err != nil {
			t.Fatal(err)
		}
		return kept
	}
	long := nodeCertificate(t, before, "n1", 2*time.Hour)
	keep(long)
	// The file is not written again if nothing changed: the root may be full.
	file := filepath.Join(root, "credential", "client.pem")
	first, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	keep(long)
	if second, err := os.Stat(file); err != nil || !os.SameFile(first, second) {
		t.Errorf("the same certificate was written again: %v", err)
	}
	if !bytes.Contains(keep(nodeCertificate(t, before, "n1", time.Hour)), long.CertData) {
		t.Error("a certificate of the same cluster that lasts longer did not stay")
	}
	given := nodeCertificate(t, now, "n1", time.Hour)
	if !bytes.Contains(keep(given), given.CertData) {
		t.Error("the certificate of another cluster stayed")
	}
}

// TestCredentialNotBegun checks that an agent does not keep a certificate that has not begun: the clock was set back since the renewal.
func TestCredentialNotBegun(t *testing.T) {
	dir, root := t.TempDir(), t.TempDir()
	given := nodeCertificate(t, dir, "n1", time.Hour)
	renewed := nodeCertificateAt(t, dir, "n1", time.Now().Add(5*time.Hour))
	file, text := filepath.Join(root, "credential", "client.pem"), slices.Concat(renewed.CertData, renewed.KeyData)
	// keep writes the renewed certificate to the file, and calls KeepCredential with another one.
	keep := func(given rest.TLSClientConfig) *node.Credential {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, text, 0o600)); err != nil {
			t.Fatal(err)
		}
		credential, err := node.KeepCredential(&rest.Config{TLSClientConfig: given}, node.Claim{Name: "n1", Root: root})
		if err != nil {
			t.Fatal(err)
		}
		return credential
	}
	holds := func(want rest.TLSClientConfig) bool {
		t.Helper()
		kept, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Contains(kept, want.CertData)
	}
	if err := keep(given).Close(); err != nil || !holds(given) {
		t.Errorf("the agent starts with a certificate that has not begun: %v", err)
	}
	if err := keep(nodeCertificateAt(t, dir, "n1", time.Now().Add(4*time.Hour))).Close(); err != nil || !holds(renewed) {
		t.Errorf("the given certificate has not begun either, and replaces the renewed one: %v", err)
	}
	// The clock is set back while the agent runs.
	credential := keep(given)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { credential.Run(ctx, nil) })
	waittest.Until(t, "the agent takes the given certificate again", func() bool { return holds(given) })
	cancel()
	running.Wait()
	if err := credential.Close(); err != nil {
		t.Error(err)
	}
}

// TestCertificateExpires checks that an agent renews a certificate that is about to expire,
// that the server approves the request, and that the agent uses the new certificate without a
// restart.
func TestCertificateExpires(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := clusterOf(t, servertest.Start(t, apiserver.Config{DataDir: dir}))
	name := "n1" + c.suffix
	config := c.Config(t)
	short := nodeCertificate(t, dir, name, 5*time.Minute)
	config.CertData, config.KeyData = short.CertData, short.KeyData
	config.CertFile, config.KeyFile = "", ""
	root := t.TempDir()
	credential, err := node.KeepCredential(config, node.Claim{Name: name, Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = credential.Close() }()
	a := c.startAgentAs(t, config, node.Config{Name: "n1", Root: root, Credential: credential})
	c.apply(t, `{kind: ConfigMap, metadata: {name: app}, data: {app.conf: one}}`)
	c.apply(t, pod("web", "n1", `[{name: conf, configMap: {name: app}}]`))
	a.waitForFile(c, t, "web", "conf/app.conf", "one")
	before := credentialID(t, a.Client)
	old, err := tls.LoadX509KeyPair(config.CertFile, config.KeyFile)
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	var renewing sync.WaitGroup
	defer renewing.Wait()
	defer cancel()
	renewing.Go(func() { credential.Run(ctx, a.Client) })
	waittest.Until(t, "the agent has another certificate and uses it", func() bool {
		pair, err := tls.LoadX509KeyPair(config.CertFile, config.KeyFile)
		if err != nil {
			return false // one file is of before the change, and the other one of after it
		}
		sum := sha256.Sum256(pair.Certificate[0])
		id := credentialID(t, a.Client)
		return id != before && id == "X509SHA256="+hex.EncodeToString(sum[:]) &&
			pair.Leaf.NotAfter.After(old.Leaf.NotAfter.Add(time.Hour))
	})
	requests, err := c.admin.CertificatesV1().CertificateSigningRequests().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(requests.Items) != 1 || len(requests.Items[0].Status.Conditions) != 1 ||
		requests.Items[0].Status.Conditions[0].Reason != "AutoApproved" {
		t.Errorf("requests %+v", requests.Items)
	}
	c.setData(t, "app", "two")
	a.waitForFile(c, t, "web", "conf/app.conf", "two")
}

// TestExpiredCertificate checks that the agent logs that its certificate has expired or not begun, with each
// error for which the server only says that a request is not authorized.
func TestExpiredCertificate(t *testing.T) {
	t.Parallel()
	for text, begin := range map[string]time.Duration{
		"the client certificate of the node expired at ": -6 * time.Hour, "the client certificate of the node begins at ": time.Hour,
	} {
		t.Run(text, func(t *testing.T) {
			c := startCluster(t)
			name, root := "n1"+c.suffix, t.TempDir()
			config := c.Config(t)
			config.TLSClientConfig = rest.TLSClientConfig{CAData: config.CAData, CAFile: config.CAFile}
			given := nodeCertificateAt(t, filepath.Dir(c.Kubeconfig()), name, time.Now().Add(begin))
			config.CertData, config.KeyData = given.CertData, given.KeyData
			credential, err := node.KeepCredential(config, node.Claim{Name: name, Root: root})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = credential.Close() }()
			client, err := node.Connect(config, nil)
			if err != nil {
				t.Fatal(err)
			}
			a, err := node.New(node.Config{Client: client, Name: name, Root: root, Credential: credential})
			if err != nil {
				t.Fatal(err)
			}
			log := &logBuffer{}
			logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(log)))
			ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), logger))
			var running sync.WaitGroup
			defer running.Wait()
			defer cancel()
			running.Go(func() { credential.Run(ctx, client) })
			running.Go(func() { _ = a.Run(ctx) })
			lines := []string{"the node is not registered", "the server does not let this node in"}
			if begin < 0 {
				lines = append(lines, "the certificate is not renewed")
			}
			for _, line := range lines {
				waittest.Until(t, "logged: "+line, func() bool { return log.count(line, "Unauthorized", text) > 0 })
			}
		})
	}
}

// nodeCertificate returns a client certificate that the certificate authority in a data
// directory signed for a node. The certificate is one hour old and valid for the time left.
func nodeCertificate(t *testing.T, dir, name string, left time.Duration) rest.TLSClientConfig {
	t.Helper()
	return signNode(t, dir, access.ClientRequest{Subject: access.NodeSubject(name), Life: time.Hour + left}, time.Now().Add(-time.Hour))
}

// nodeCertificateAt returns a client certificate of a node that begins at a time, for five hours.
func nodeCertificateAt(t *testing.T, dir, name string, begin time.Time) rest.TLSClientConfig {
	t.Helper()
	return signNode(t, dir, access.ClientRequest{Subject: access.NodeSubject(name), Life: 5 * time.Hour}, begin)
}

// signNode signs a request with a new key.
func signNode(t *testing.T, dir string, request access.ClientRequest, at time.Time) rest.TLSClientConfig {
	t.Helper()
	pki, err := access.OpenPKI(filepath.Join(dir, "pki"), nil)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	request.Public = key.Public()
	cert, err := pki.Authority().SignClient(request, at)
	if err != nil {
		t.Fatal(err)
	}
	return rest.TLSClientConfig{CertData: cert, KeyData: pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})}
}

// credentialID asks the server which credential the client uses. It returns "" if the request
// fails, which happens while the client replaces its connection.
func credentialID(t *testing.T, client kubernetes.Interface) string {
	t.Helper()
	reviews := client.AuthenticationV1().SelfSubjectReviews()
	review, err := reviews.Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		t.Log(err)
		return ""
	}
	if ids := review.Status.UserInfo.Extra["authentication.kubernetes.io/credential-id"]; len(ids) == 1 {
		return ids[0]
	}
	t.Fatalf("no credential ID: %+v", review.Status.UserInfo)
	return ""
}
