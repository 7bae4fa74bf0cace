package node_test

import (
	"net/http"
	"os"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/access"
	"holdfast.dev/holdfast/internal/node"
	"holdfast.dev/holdfast/internal/waittest"
)

// trustPod returns a Pod in YAML with the certificates of a ClusterTrustBundle.
func trustPod(name, bundle string) string {
	return pod(name, "n1", `[{name: trust, projected: {sources: [{clusterTrustBundle: {name: `+bundle+`, path: ca.pem}}]}}]`)
}

// authorityPEM returns the certificate of a new authority.
func authorityPEM(t *testing.T) string {
	t.Helper()
	pki, err := access.OpenPKI(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(pki.CAFile())
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestTrustBundles checks that a file follows its ClusterTrustBundle, and that the agent has a watch of
// bundles only while a pod uses them.
func TestTrustBundles(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	a := c.startAgent(t, node.Config{Name: "n1"})
	bundle := "bundle" + c.suffix
	c.apply(t, trustPod("web", bundle))
	c.waitForCondition(t, "web", "False", "volume trust: clustertrustbundle "+bundle+" not found")
	bundles := c.admin.CertificatesV1().ClusterTrustBundles()
	object := &certificatesv1.ClusterTrustBundle{ObjectMeta: metav1.ObjectMeta{Name: bundle}}
	object.Spec.TrustBundle = authorityPEM(t)
	object, err := bundles.Create(t.Context(), object, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	a.waitForFile(c, t, "web", "trust/ca.pem", object.Spec.TrustBundle)
	c.waitForCondition(t, "web", "True", "")
	object.Spec.TrustBundle = authorityPEM(t)
	if _, err := bundles.Update(t.Context(), object, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	a.waitForFile(c, t, "web", "trust/ca.pem", object.Spec.TrustBundle)
	open := a.gauge(t, "holdfast_node_open_watches")
	c.deletePodNow(t, "web")
	waittest.Until(t, "the watch of bundles is closed", func() bool { return a.gauge(t, "holdfast_node_open_watches") < open })
	if count := a.requests.count("clustertrustbundles", "watch=true"); count > 2 {
		t.Errorf("%d watches of bundles were opened", count)
	}
}

// TestNoTrustBundles checks that the condition says if the server does not have the kind.
func TestNoTrustBundles(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	credential := rest.CopyConfig(c.credential(t, "n1"))
	credential.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			if !strings.Contains(request.URL.Path, "clustertrustbundles") {
				return next.RoundTrip(request)
			}
			return stockServer{http.StatusNotFound, "NotFound", "the server could not find the requested resource"}.reject(request)
		})
	})
	c.startAgentAs(t, credential, node.Config{Name: "n1"})
	c.apply(t, trustPod("web", "any"))
	c.waitForCondition(t, "web", "False", "volume trust: the server has no ClusterTrustBundles (certificates.k8s.io/v1)")
}
