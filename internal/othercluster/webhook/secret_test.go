package webhook_test

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"testing"
	"time"

	"holdfast.dev/holdfast/internal/othercluster/webhook"
)

const day = 24 * time.Hour

var secret = webhook.Secret{Namespace: "kudo-system", Name: "kudo-webhook"}

// certificate decodes one of the certificates in the Secret.
func certificate(t *testing.T, keys map[string][]byte, name string) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(keys[name])
	if block == nil {
		t.Fatalf("%s: not PEM", name)
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

func TestCompleteKeys(t *testing.T) {
	t.Parallel()
	now := time.Now()
	hosts := []string{"kudo-webhook.kudo-system.svc", "10.0.0.7"}
	created := func(t *testing.T, ago time.Duration) map[string][]byte {
		t.Helper()
		keys, err := secret.Complete(nil, hosts, now.Add(-ago))
		if err != nil {
			t.Fatal(err)
		}
		return keys
	}
	without := func(keys map[string][]byte, names ...string) map[string][]byte {
		for _, name := range names {
			delete(keys, name)
		}
		return keys
	}
	for name, test := range map[string]struct {
		found                      map[string][]byte
		hosts                      []string
		sameAuthority, sameServing bool
	}{
		"none":                        {hosts: hosts},
		"valid":                       {found: created(t, 0), hosts: hosts, sameAuthority: true, sameServing: true},
		"valid for more hosts":        {found: created(t, 0), hosts: hosts[1:], sameAuthority: true, sameServing: true},
		"valid for two months":        {found: created(t, 300*day), hosts: hosts, sameAuthority: true, sameServing: true},
		"expires soon":                {found: created(t, 320*day), hosts: hosts, sameAuthority: true},
		"expired":                     {found: created(t, 400*day), hosts: hosts, sameAuthority: true},
		"for another host":            {found: created(t, 0), hosts: []string{"kudo.example.com"}, sameAuthority: true},
		"without a key":               {found: without(created(t, 0), "tls.key"), hosts: hosts, sameAuthority: true},
		"without the authority's key": {found: without(created(t, 0), "ca.key"), hosts: hosts},
		"the authority expires soon":  {found: created(t, 9*365*day), hosts: hosts},
		"not certificates":            {found: map[string][]byte{"ca.crt": []byte("?"), "tls.crt": []byte("?")}, hosts: hosts},
		"signed by another authority": {
			found: map[string][]byte{"ca.crt": created(t, 0)["ca.crt"], "tls.crt": created(t, 0)["tls.crt"]},
			hosts: hosts,
		},
		"another key of the authority": {found: func() map[string][]byte {
			keys := created(t, 0)
			keys["ca.key"] = created(t, 0)["ca.key"]
			return keys
		}(), hosts: hosts},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := secret.Complete(test.found, test.hosts, now)
			if err != nil {
				t.Fatal(err)
			}
			if same := bytes.Equal(got["ca.crt"], test.found["ca.crt"]); same != test.sameAuthority {
				t.Errorf("same authority: %t", same)
			}
			if same := bytes.Equal(got["tls.crt"], test.found["tls.crt"]); same != test.sameServing {
				t.Errorf("same certificate: %t", same)
			}
			roots := x509.NewCertPool()
			roots.AddCert(certificate(t, got, "ca.crt"))
			for _, host := range test.hosts {
				serving := certificate(t, got, "tls.crt")
				options := x509.VerifyOptions{Roots: roots, DNSName: host, CurrentTime: now.Add(50 * day)}
				if _, err := serving.Verify(options); err != nil {
					t.Errorf("%s: %v", host, err)
				}
			}
		})
	}
}
