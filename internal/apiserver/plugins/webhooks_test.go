package plugins

import (
	"testing"

	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"
)

// No webhook gets a credential of the server, above all not one that is named like the
// server's own Service.
func TestWebhooksGetNoCredential(t *testing.T) {
	t.Parallel()
	plain, err := webhook.NewDefaultAuthenticationInfoResolver("")
	if err != nil {
		t.Fatal(err)
	}
	resolver := WebhookAuthentication(plain)
	for name, config := range map[string]func() (*rest.Config, error){
		"by Service":             func() (*rest.Config, error) { return resolver.ClientConfigForService("kubernetes", "default", 443) },
		"by another Service":     func() (*rest.Config, error) { return resolver.ClientConfigForService("hook", "shop", 443) },
		"by URL":                 func() (*rest.Config, error) { return resolver.ClientConfigFor("kubernetes.default.svc:443") },
		"by URL of another host": func() (*rest.Config, error) { return resolver.ClientConfigFor("hook.example.com:443") },
	} {
		got, err := config()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got.BearerToken != "" || got.Username != "" || got.Password != "" || got.CertData != nil || got.CertFile != "" ||
			got.KeyData != nil || got.Dial != nil || got.Transport != nil {
			t.Errorf("%s: the client has a credential or a way of its own: %v", name, got)
		}
	}
}
