package rules_test

import (
	"encoding/json"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"

	"holdfast.dev/holdfast/internal/native/rules"
)

// leafCertificate is the certificate of a server, not of an authority.
const leafCertificate = `-----BEGIN CERTIFICATE-----
MIIBcjCCARigAwIBAgIUKb30KDAWWRSZtR8DETmehCyV4ZYwCgYIKoZIzj0EAwIw
DzENMAsGA1UEAwwEbGVhZjAgFw0yNjExMTYxMjE3MTJaGA8yMTI2MTAyMzEyMTcx
MlowDzENMAsGA1UEAwwEbGVhZjBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABBxk
sUl9lyX3+3IIux/m/yT9hFQ2B5TSQtOmgOzqcIG4qRcO1csImGB2bfqvrOP/ynDX
XJfPnPXooQNyrUa0Nw6jUDBOMB0GA1UdDgQWBBSikGMRMOJ80muABW7tnIjGyQ7V
hDAfBgNVHSMEGDAWgBSikGMRMOJ80muABW7tnIjGyQ7VhDAMBgNVHRMBAf8EAjAA
MAoGCCqGSM49BAMCA0gAMEUCIEdnmYFQ3FwHwPGv3sOQUB0jRTi+1I4fau+pI+Ut
CzIUAiEApYqorsUoj47/kUTcVGNBd1eMxNXDD1itFqBqrfAWR2o=
-----END CERTIFICATE-----
`

func TestTrustBundles(t *testing.T) {
	const omitted = `spec.trustBundle: Invalid value: "<value omitted>": `
	anchor := defaulted(t, []byte(valid["ClusterTrustBundle"])).(*certificatesv1.ClusterTrustBundle).Spec.TrustBundle
	bundle := func(text string) string {
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		return "spec/trustBundle = " + string(quoted)
	}
	edits{
		"name without signer": {
			"spec/signerName =",
			`metadata.name: Invalid value: "example.com:issuer:v1": ClusterTrustBundle without signer name must not have ":" in its name`,
		},
		"name of another signer": {
			"spec/signerName = example.com/other",
			`metadata.name: Invalid value: "example.com:issuer:v1": ` +
				`ClusterTrustBundle for signerName example.com/other must be named with prefix example.com:other:`,
		},
		"end of the name": {"metadata/name = 'example.com:issuer:A'", `metadata.name: Invalid value: "example.com:issuer:A": ` + subdomain},
		"signer": {"spec/signerName = com/A\nmetadata/name = 'com:A:v1'", `
			spec.signerName: Invalid value: "com": should be a domain with at least two segments separated by dots
			spec.signerName: Invalid value: "A": validating label "A": ` + subdomain},
		"no anchor":  {bundle("x"), omitted + `at least one trust anchor must be provided`},
		"key":        {bundle("-----BEGIN KEY-----\n-----END KEY-----\n"), omitted + `entry 0 has bad block type: KEY`},
		"headers":    {bundle("-----BEGIN CERTIFICATE-----\na: b\n\n-----END CERTIFICATE-----\n"), omitted + `entry 0 has PEM block headers`},
		"not X.509":  {bundle("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"), omitted + `entry 0 does not parse as X.509`},
		"leaf":       {bundle(anchor + "\n" + leafCertificate), omitted + `entry 1 does not have the CA bit set`},
		"duplicates": {bundle(anchor + "\n" + anchor), omitted + `duplicate trust anchor (indices [0 1])`},
		"too large":  {bundle(strings.Repeat("a", 1<<20+1)), `spec.trustBundle: Too long: may not be more than 1048576 bytes`},
	}.run(t, "ClusterTrustBundle")
}

// TestUnchangedTrustBundle checks that a bundle is only parsed if it changes.
func TestUnchangedTrustBundle(t *testing.T) {
	old := defaulted(t, []byte(valid["ClusterTrustBundle"])).(*certificatesv1.ClusterTrustBundle)
	old.ResourceVersion, old.Spec.TrustBundle = "1", "stored by an older server"
	labelled := old.DeepCopy()
	labelled.Labels = map[string]string{"a": "b"}
	if errs := rules.ValidateUpdate(labelled, old); len(errs) > 0 {
		t.Errorf("unchanged bundle: %v", errs)
	}
	labelled.Spec.TrustBundle = "other"
	if errs := rules.ValidateUpdate(labelled, old); len(errs) != 1 {
		t.Errorf("changed bundle: %v", errs)
	}
}
