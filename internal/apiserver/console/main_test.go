package console_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/console"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
)

// tokens has a user without roles and two users that the tests give roles.
const tokens = "nobody-token,nobody,1,\nreader-token,reader,2,\nauditor-token,auditor,3,\n"

// server is a server with the console, and HTTP clients for it.
type server struct {
	*servertest.Server
	admin, anonymous *http.Client
}

func start(t *testing.T, config apiserver.Config) server {
	t.Helper()
	file := t.TempDir() + "/tokens.csv"
	if err := os.WriteFile(file, []byte(tokens), 0o600); err != nil {
		t.Fatal(err)
	}
	config.TokenFile = file
	s := server{Server: servertest.Start(t, config)}
	var err error
	if s.admin, err = rest.HTTPClientFor(s.Config(t)); err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(s.Config(t).CAData)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	t.Cleanup(transport.CloseIdleConnections)
	noRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	s.anonymous = &http.Client{Transport: transport, CheckRedirect: noRedirect}
	return s
}

// answer is the answer to a request.
type answer struct {
	code   int
	header http.Header
	body   string
}

// send sends a request. The headers are names and values in turn.
func (s server) send(t *testing.T, client *http.Client, method, path string, headers ...string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL()+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(body)}
}

// report returns the report about an object, for the administrator.
func (s server) report(t *testing.T, path string) (console.Report, string) {
	t.Helper()
	got := s.send(t, s.admin, http.MethodGet, path, "Accept", console.MediaType)
	return got.report(t, path), got.body
}

// report returns the report in an answer.
func (a answer) report(t *testing.T, path string) console.Report {
	t.Helper()
	var report console.Report
	if err := json.Unmarshal([]byte(a.body), &report); err != nil || a.code != http.StatusOK || report.Kind != "Report" {
		t.Fatalf("%s: %d %v %s", path, a.code, err, a.body)
	}
	return report
}

// as sends a request for a report as one of the users with a token.
func (s server) as(t *testing.T, user, path string) answer {
	t.Helper()
	return s.send(t, s.anonymous, http.MethodGet, path, "Accept", console.MediaType, "Authorization", "Bearer "+user+"-token")
}

// allow creates a role in the namespace default, and binds it to a user.
func (s server) allow(t *testing.T, user string, rule rbacv1.PolicyRule) {
	t.Helper()
	client := s.Client(t).RbacV1()
	name := metav1.ObjectMeta{Name: user + "-" + rule.Resources[0]}
	role := &rbacv1.Role{ObjectMeta: name, Rules: []rbacv1.PolicyRule{rule}}
	if _, err := client.Roles("default").Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: name, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name.Name},
		Subjects: []rbacv1.Subject{{Kind: "User", Name: user, APIGroup: rbacv1.GroupName}},
	}
	if _, err := client.RoleBindings("default").Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// write sends an object of the administrator.
func (s server) write(t *testing.T, method, path, contentType, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("Kubectl-Command", "kubectl patch")
	resp, err := s.admin.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if answer, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode > http.StatusCreated {
		t.Fatalf("%s %s: %d %s", method, path, resp.StatusCode, answer)
	}
}

// create creates an object from YAML.
func (s server) create(t *testing.T, path, body string) {
	t.Helper()
	s.write(t, http.MethodPost, path, "application/yaml", body)
}
