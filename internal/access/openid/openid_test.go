package openid_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/access/openid"
	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

// whoami returns the name and the groups of the user that the server authenticates
// with a token, or "401".
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

// TestFlags configures one provider with flags and checks which tokens the server
// accepts.
func TestFlags(t *testing.T) {
	p, otherProvider := newProvider(t), newProvider(t)
	server := servertest.Start(t, apiserver.Config{OpenID: openid.Config{
		IssuerURL: p.URL, ClientID: "holdfast", CAFile: write(t, "ca.crt", p.ca()),
		UsernameClaim: "email", GroupsClaim: "groups", GroupsPrefix: "oidc:",
		RequiredClaims: map[string]string{"tenant": "blue"}, SigningAlgs: []string{"ES256"},
	}})
	jane := "jane@example.com oidc:dev,oidc:ops,system:authenticated"
	good := p.token(t, nil)
	waittest.Until(t, "the server has the provider's keys", func() bool { return whoami(t, server, good) == jane })

	forger := *otherProvider
	forger.URL = p.URL
	for name, test := range map[string]struct{ bearer, want string }{
		"valid":                   {good, jane},
		"one group":               {p.token(t, jwt.MapClaims{"groups": "dev"}), "jane@example.com oidc:dev,system:authenticated"},
		"no groups":               {p.token(t, jwt.MapClaims{"groups": nil}), "jane@example.com system:authenticated"},
		"several audiences":       {p.token(t, jwt.MapClaims{"aud": []string{"other", "holdfast"}}), jane},
		"expired":                 {p.token(t, jwt.MapClaims{"exp": time.Now().Add(-time.Minute).Unix()}), "401"},
		"other audience":          {p.token(t, jwt.MapClaims{"aud": "other"}), "401"},
		"other issuer":            {otherProvider.token(t, nil), "401"},
		"signed with another key": {forger.token(t, nil), "401"},
		"required claim differs":  {p.token(t, jwt.MapClaims{"tenant": "red"}), "401"},
		"required claim missing":  {p.token(t, jwt.MapClaims{"tenant": nil}), "401"},
		"email not verified":      {p.token(t, jwt.MapClaims{"email_verified": false}), "401"},
		"user claim missing":      {p.token(t, jwt.MapClaims{"email": nil}), "401"},
		"user claim empty":        {p.token(t, jwt.MapClaims{"email": ""}), "401"},
		"changed signature":       {good[:len(good)-8] + "AAAAAAAA", "401"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := whoami(t, server, test.bearer); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// TestReservedNames configures a provider without prefixes, whose tokens name users and groups
// of the server itself.
func TestReservedNames(t *testing.T) {
	p := newProvider(t)
	server := servertest.Start(t, apiserver.Config{OpenID: openid.Config{
		IssuerURL: p.URL, ClientID: "holdfast", CAFile: write(t, "ca.crt", p.ca()), SigningAlgs: []string{"ES256"},
		UsernameClaim: "sub", UsernamePrefix: "-", GroupsClaim: "groups",
	}})
	waittest.Until(t, "the server has the provider's keys", func() bool {
		return whoami(t, server, p.token(t, nil)) == "42 dev,ops,system:authenticated"
	})
	for name, test := range map[string]struct {
		claims jwt.MapClaims
		want   string
	}{
		"administrators":  {jwt.MapClaims{"groups": []string{"system:masters", "dev"}}, "42 dev,system:authenticated"},
		"one group":       {jwt.MapClaims{"groups": "system:masters"}, "42 system:authenticated"},
		"node":            {jwt.MapClaims{"sub": "system:node:n1", "groups": "system:nodes"}, "401"},
		"service account": {jwt.MapClaims{"sub": "system:serviceaccount:kube-system:default"}, "401"},
		"similar names": {
			jwt.MapClaims{"sub": "system", "groups": []string{"systems", ":system:"}}, "system systems,:system:,system:authenticated",
		},
		"another alphabet": {jwt.MapClaims{"groups": []string{"ſystem:masters"}}, "42 ſystem:masters,system:authenticated"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := whoami(t, server, p.token(t, test.claims)); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// TestFile configures two providers, with CEL expressions, in a file.
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
		waittest.Until(t, name+" is accepted", func() bool { return whoami(t, server, test.bearer) == test.want })
	}
	if got := whoami(t, server, blue.token(t, jwt.MapClaims{"tenant": "none"})); got != "401" {
		t.Errorf("token violates a validation rule: %s", got)
	}
	masters := blue.token(t, jwt.MapClaims{"groups": []string{"dev", "system:masters", "system:nodes"}})
	if got := whoami(t, server, masters); got != "oidc:blue:42 dev,system:authenticated" {
		t.Errorf("token with groups of the server: %s", got)
	}
}

func TestInvalidConfig(t *testing.T) {
	const head = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n"
	const incomplete = "oidc: issuer URL and client ID belong together, and are needed for every other oidc flag"
	// flags returns the flags of a provider with a valid URL.
	flags := func(algorithms []string, caFile string) openid.Config {
		return openid.Config{IssuerURL: "https://a.example", ClientID: "c", SigningAlgs: algorithms, CAFile: caFile}
	}
	for name, test := range map[string]struct {
		config openid.Config
		file   string
		want   string
	}{
		"issuer URL without client ID": {openid.Config{IssuerURL: "https://a.example"}, "", incomplete},
		"claim without issuer URL":     {openid.Config{GroupsClaim: "groups"}, "", incomplete},
		"issuer URL without TLS":       {openid.Config{IssuerURL: "http://a.example", ClientID: "c"}, "", `URL scheme must be https`},
		"issuer of service accounts": {
			openid.Config{IssuerURL: "https://own.example", ClientID: "c"}, "", `URL must not overlap with disallowed issuers`,
		},
		"unsupported algorithm": {
			flags([]string{"HS256"}, ""), "", `oidc: https://a.example: oidc: unsupported signing alg: "HS256"`,
		},
		"missing CA file": {
			flags(nil, "/nowhere/ca.crt"), "",
			"oidc certificate authority: open /nowhere/ca.crt: no such file or directory",
		},
		"reserved prefix of users": {
			openid.Config{IssuerURL: "https://a.example", ClientID: "c", UsernamePrefix: "system:"},
			"",
			`jwt[0].claimMappings.username.prefix: Invalid value: "system:": must not begin with system:`,
		},
		"reserved prefix of groups": {
			openid.Config{IssuerURL: "https://a.example", ClientID: "c", GroupsClaim: "groups", GroupsPrefix: "system:oidc:"},
			"",
			`jwt[0].claimMappings.groups.prefix: Invalid value: "system:oidc:": must not begin with system:`,
		},
		"flags and a file": {flags(nil, ""), head, "the oidc flags cannot be combined with a file"},
		"file of another kind": {
			openid.Config{}, "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\n", "want AuthenticationConfiguration",
		},
		"file without kind":       {openid.Config{}, "jwt: []\n", "Object 'Kind' is missing"},
		"file with unknown field": {openid.Config{}, head + "jtw: []\n", `unknown field "jtw"`},
		"file with anonymous": {
			openid.Config{}, head + "anonymous: {enabled: true}\n", "anonymous: not supported in the file, use --anonymous-auth",
		},
		"file with the same provider twice": {
			openid.Config{},
			head + "jwt:\n" + strings.Repeat(
				"- {issuer: {url: https://a.example, audiences: [c]}, claimMappings: {username: {claim: sub, prefix: ''}}}\n", 2),
			`jwt[1].issuer.url: Duplicate value: "https://a.example"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if test.file != "" {
				test.config.File = write(t, "authentication.yaml", []byte(test.file))
			}
			_, err := openid.New(t.Context(), test.config, openid.Server{Issuers: []string{"https://own.example"}})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
	noProvider := openid.Config{SigningAlgs: []string{"RS256"}, UsernameClaim: "sub"}
	if tokens, err := openid.New(t.Context(), noProvider, openid.Server{}); err != nil || len(tokens) != 0 {
		t.Errorf("no provider: %v, %v", tokens, err)
	}
}
