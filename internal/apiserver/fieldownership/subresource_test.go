package fieldownership_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/yamltest"
	"holdfast.dev/holdfast/ownership"
)

// TestSubresources changes an applied field of an object through each endpoint of ownership.Endpoints.
func TestSubresources(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{})
	servertest.AwaitAccount(t, server.Client(t), "default")
	config := server.Config(t)
	const merge, strategic = types.MergePatchType, types.StrategicMergePatchType
	const pod = `{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {team: red}}, spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]%s}}`
	const request = `{apiVersion: certificates.k8s.io/v1, kind: CertificateSigningRequest, metadata: {name: r, labels: {team: red}}, ` +
		`spec: {request: REQUEST, signerName: example.com/s, usages: [client auth]}}`
	const label = `{metadata: {labels: {team: blue}}}`
	tests := map[string]struct {
		path, name string
		// applied is the last-applied configuration, live the object.
		applied, live string
		media         types.PatchType
		patch, want   string
	}{
		"pods/resize": {
			path: "/api/v1/namespaces/default/pods", name: "p", applied: strings.Replace(pod, "%s", "", 1), media: strategic,
			patch: `{spec: {containers: [{name: c, resources: {requests: {cpu: "2"}}}]}}`, want: `.spec.containers[name="c"].resources.requests.cpu`,
		},
		"pods/ephemeralcontainers": {
			path: "/api/v1/namespaces/default/pods", name: "p", applied: strings.Replace(pod, "%s", ", ephemeralContainers: [{name: e, image: i}]", 1),
			live: strings.Replace(pod, "%s", "", 1), media: strategic,
			patch: `{spec: {ephemeralContainers: [{name: e, image: other}]}}`, want: `.spec.ephemeralContainers[name="e"].image`,
		},
		"*/status": {
			path: "/api/v1/namespaces/default/pods", name: "p", applied: strings.Replace(pod, "%s", "", 1), media: merge, patch: label, want: ".metadata.labels.team",
		},
		"*/scale": {
			path: "/apis/apps/v1/namespaces/default/deployments", name: "web", media: merge, patch: `{spec: {replicas: 3}}`, want: ".spec.replicas",
			applied: `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 2, selector: {matchLabels: {app: web}}, ` +
				`template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: i}]}}}}`,
		},
		"certificatesigningrequests/approval": {
			path: "/apis/certificates.k8s.io/v1/certificatesigningrequests", name: "r", media: merge, patch: label, want: ".metadata.labels.team",
			applied: strings.Replace(request, "REQUEST", signingRequest(t), 1),
		},
		"namespaces/finalize": {
			path: "/api/v1/namespaces", name: "shop", media: merge, patch: label, want: ".metadata.labels.team",
			applied: `{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {team: red}}}`,
		},
	}
	for _, endpoint := range ownership.Endpoints() {
		name := endpoint.Resource + "/" + endpoint.Subresource
		t.Run(name, func(t *testing.T) {
			test, ok := tests[name]
			if !ok {
				t.Fatal("no test")
			}
			live := test.live
			if live == "" {
				live = test.applied
			}
			root := running(t, config, "kubectl apply").CoreV1().RESTClient()
			body := encode(t, ownership.WithLastApplied(yamltest.Map(t, live), string(yamltest.JSON(t, test.applied))))
			if err := root.Post().AbsPath(test.path).SetHeader("Content-Type", "application/json").Body(body).Do(t.Context()).Error(); err != nil {
				t.Fatal(err)
			}
			client := running(t, config, "kubectl patch")
			verb := client.CoreV1().RESTClient().Patch(test.media).Body(yamltest.JSON(t, test.patch))
			if endpoint.Subresource == "finalize" {
				// This endpoint takes a whole object.
				whole := yamltest.Map(t, strings.Replace(string(body), `"red"`, `"blue"`, 1))
				verb = client.CoreV1().RESTClient().Put().SetHeader("Content-Type", "application/json").Body(encode(t, whole))
			}
			if err := verb.AbsPath(test.path, test.name, endpoint.Subresource).Param("fieldManager", "kubectl-patch").Do(t.Context()).Error(); err != nil {
				t.Fatal(err)
			}
			said := client.heard()
			if len(said) != 1 || !strings.Contains(said[0], " field "+test.want+" value from ") {
				t.Errorf("told %q, want a line about %s", said, test.want)
			}
			deleted := root.Delete().AbsPath(test.path, test.name)
			if test.name == "p" {
				deleted = deleted.Param("gracePeriodSeconds", "0")
			}
			if err := deleted.Do(t.Context()).Error(); err != nil {
				t.Error(err)
			}
		})
	}
}

// signingRequest returns a request for a certificate, as spec.request has it.
func signingRequest(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "r"}}, key)
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))
}
