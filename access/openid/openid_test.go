package openid_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/access/openid"
	"holdfast.dev/holdfast/apiserver"
	"holdfast.dev/holdfast/apiserver/servertest"
)

// whoami is who the server takes the bearer of a token for: the name and the
// groups, or "401".
func whoami(t *testing.T, server *servertest.Server, bearer string) string {
	t.Helper()
	config := rest.AnonymousClientConfig(server.Config(t))
	config.BearerToken = bearer
	review, err := kubernetes.NewForConfigOrDie(config).AuthenticationV1().SelfSubjectReviews().
		Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	switch {
	case apierrors.IsUnauthorized(err):
		return "401"
	case err != nil:
		t.Fatal(err)
	}
	return review.Status.UserInfo.Username + " " + strings.Join(review.Status.UserInfo.Groups, ",")
}

func write(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A person comes in with a token of the provider that the flags name, and with
// no other.
func TestFlags(t *testing.T) {
	p, stranger := newProvider(t), newProvider(t)
	server := servertest.Start(t, apiserver.Config{OpenID: openid.Config{
		IssuerURL: p.URL, ClientID: "holdfast", CAFile: write(t, "ca.crt", p.ca()),
		UsernameClaim: "email", GroupsClaim: "groups", GroupsPrefix: "oidc:",
		RequiredClaims: map[string]string{"tenant": "blue"}, SigningAlgs: []string{"ES256"},
	}})
	jane := "jane@example.com oidc:dev,oidc:ops,system:authenticated"
	good := p.token(t, nil)
	servertest.Eventually(t, "the provider's keys are known", func() bool { return whoami(t, server, good) == jane })

	forged := *stranger
	forged.URL = p.URL
	for name, test := range map[string]struct{ bearer, want string }{
		"good":                    {good, jane},
		"one group":               {p.token(t, jwt.MapClaims{"groups": "dev"}), "jane@example.com oidc:dev,system:authenticated"},
		"no groups":               {p.token(t, jwt.MapClaims{"groups": nil}), "jane@example.com system:authenticated"},
		"several audiences":       {p.token(t, jwt.MapClaims{"aud": []string{"other", "holdfast"}}), jane},
		"expired":                 {p.token(t, jwt.MapClaims{"exp": time.Now().Add(-time.Minute).Unix()}), "401"},
		"another audience":        {p.token(t, jwt.MapClaims{"aud": "other"}), "401"},
		"another issuer":          {stranger.token(t, nil), "401"},
		"another key":             {forged.token(t, nil), "401"},
		"another claim":           {p.token(t, jwt.MapClaims{"tenant": "red"}), "401"},
		"a claim that is missing": {p.token(t, jwt.MapClaims{"tenant": nil}), "401"},
		"an address not verified": {p.token(t, jwt.MapClaims{"email_verified": false}), "401"},
		"no user":                 {p.token(t, jwt.MapClaims{"email": nil}), "401"},
		"an empty user":           {p.token(t, jwt.MapClaims{"email": ""}), "401"},
		"a token changed":         {good[:len(good)-8] + "AAAAAAAA", "401"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := whoami(t, server, test.bearer); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// The structured file has any number of providers, and expressions.
func TestFile(t *testing.T) {
	blue, red := newProvider(t), newProvider(t)
	file := `apiVersion: apiserver.config.k8s.io/v1
kind: AuthenticationConfiguration
jwt:
`
	for _, p := range []*provider{blue, red} {
		file += fmt.Sprintf(`- issuer:
    url: %s
    audiences: [holdfast]
    certificateAuthority: |
      %s
  claimValidationRules:
  - expression: claims.tenant != "none"
    message: tenant must not be none
  claimMappings:
    username: {expression: '"oidc:" + claims.tenant + ":" + claims.sub'}
    groups: {claim: groups, prefix: ""}
`, p.URL, strings.ReplaceAll(strings.TrimSpace(string(p.ca())), "\n", "\n      "))
	}
	server := servertest.Start(t, apiserver.Config{OpenID: openid.Config{File: write(t, "authentication.yaml", []byte(file))}})
	for name, test := range map[string]struct{ bearer, want string }{
		"blue": {blue.token(t, nil), "oidc:blue:42 dev,ops,system:authenticated"},
		"red":  {red.token(t, jwt.MapClaims{"tenant": "red"}), "oidc:red:42 dev,ops,system:authenticated"},
	} {
		servertest.Eventually(t, name+" is let in", func() bool { return whoami(t, server, test.bearer) == test.want })
	}
	if got := whoami(t, server, blue.token(t, jwt.MapClaims{"tenant": "none"})); got != "401" {
		t.Errorf("a rule is broken: %s", got)
	}
}

func TestRefused(t *testing.T) {
	const head = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n"
	for name, test := range map[string]struct {
		config openid.Config
		file   string
		want   string
	}{
		"no client":         {openid.Config{IssuerURL: "https://a.example"}, "", "oidc: issuer URL and client ID belong together, and are needed for every other oidc flag"},
		"claim alone":       {openid.Config{GroupsClaim: "groups"}, "", "oidc: issuer URL and client ID belong together, and are needed for every other oidc flag"},
		"no TLS":            {openid.Config{IssuerURL: "http://a.example", ClientID: "c"}, "", `URL scheme must be https`},
		"our own issuer":    {openid.Config{IssuerURL: "https://own.example", ClientID: "c"}, "", `URL must not overlap with disallowed issuers`},
		"no such algorithm": {openid.Config{IssuerURL: "https://a.example", ClientID: "c", SigningAlgs: []string{"HS256"}}, "", `oidc: https://a.example: oidc: unsupported signing alg: "HS256"`},
		"no such CA":        {openid.Config{IssuerURL: "https://a.example", ClientID: "c", CAFile: "/nowhere/ca.crt"}, "", "oidc certificate authority: open /nowhere/ca.crt: no such file or directory"},
		"both":              {openid.Config{IssuerURL: "https://a.example", ClientID: "c"}, head, "the oidc flags cannot be given beside a file"},
		"another kind":      {openid.Config{}, "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\n", "want AuthenticationConfiguration"},
		"no kind":           {openid.Config{}, "jwt: []\n", "Object 'Kind' is missing"},
		"unknown field":     {openid.Config{}, head + "jtw: []\n", `unknown field "jtw"`},
		"anonymous":         {openid.Config{}, head + "anonymous: {enabled: true}\n", "anonymous: not supported in the file, say it with --anonymous-auth"},
		"twice the same": {openid.Config{}, head + "jwt:\n" + strings.Repeat(
			"- {issuer: {url: https://a.example, audiences: [c]}, claimMappings: {username: {claim: sub, prefix: ''}}}\n", 2), `jwt[1].issuer.url: Duplicate value: "https://a.example"`},
	} {
		t.Run(name, func(t *testing.T) {
			if test.file != "" {
				test.config.File = write(t, "authentication.yaml", []byte(test.file))
			}
			_, err := openid.New(t.Context(), test.config, openid.Server{Issuer: "https://own.example"})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
	if tokens, err := openid.New(t.Context(), openid.Config{SigningAlgs: []string{"RS256"}, UsernameClaim: "sub"}, openid.Server{}); err != nil || !cmp.Equal(len(tokens), 0) {
		t.Errorf("nobody described: %v, %v", tokens, err)
	}
}
