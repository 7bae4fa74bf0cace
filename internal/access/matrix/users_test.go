package matrix_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/cli"
)

// user is an HTTP client with the credential of a user.
type user struct {
	name   string
	config *rest.Config
	http   *http.Client
	// headers are sent with every request.
	headers map[string]string
}

func newUser(t *testing.T, name string, config *rest.Config) *user {
	t.Helper()
	// With HTTP/1, each watch has its own connection, and closing the watch does not
	// affect other requests.
	config.TLSClientConfig.NextProtos = []string{"http/1.1"}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	return &user{name: name, config: config, http: client}
}

// newCertificateUser returns a user with a client certificate. The certificate comes
// from the command `holdfast kubeconfig` with the administrator's credential.
func newCertificateUser(t *testing.T, server *servertest.Server, name string, args ...string) *user {
	t.Helper()
	var out, errs bytes.Buffer
	args = append([]string{"kubeconfig", "--kubeconfig", server.Kubeconfig()}, args...)
	if err := cli.Run(t.Context(), cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, args); err != nil {
		t.Fatalf("%s: %v %s", strings.Join(args, " "), err, errs.String())
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	return newUser(t, name, config)
}

// newTokenUser returns a user with a bearer token.
func newTokenUser(t *testing.T, server *servertest.Server, name, token string) *user {
	t.Helper()
	config := rest.AnonymousClientConfig(server.Config(t))
	config.BearerToken, config.QPS = token, -1
	return newUser(t, name, config)
}

// newAnonymousUser returns a user without a credential.
func newAnonymousUser(t *testing.T, server *servertest.Server) *user {
	t.Helper()
	return newUser(t, "anonymous", rest.AnonymousClientConfig(server.Config(t)))
}

// withHeaders returns a copy of the user that sends the headers with every request.
func (u *user) withHeaders(headers map[string]string) *user {
	other := *u
	other.headers = headers
	return &other
}

func (u *user) client() kubernetes.Interface { return kubernetes.NewForConfigOrDie(u.config) }

// response is the status and the body of an HTTP response.
type response struct {
	status int
	body   string
}

// do sends a request. It closes a watch as soon as it has the status.
func (u *user) do(ctx context.Context, method, path, body string) (response, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, u.config.Host+path, strings.NewReader(body))
	if err != nil {
		return response{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		request.Header.Set("Content-Type", "application/merge-patch+json")
	}
	for name, value := range u.headers {
		request.Header.Set(name, value)
	}
	got, err := u.http.Do(request)
	if err != nil {
		return response{}, err
	}
	defer func() { _ = got.Body.Close() }()
	if strings.Contains(path, "watch=true") && got.StatusCode == http.StatusOK {
		return response{status: got.StatusCode}, nil
	}
	content, err := io.ReadAll(got.Body)
	return response{status: got.StatusCode, body: string(content)}, err
}

// send sends a request and fails the test if there is no response.
func (u *user) send(t *testing.T, method, path, body string) response {
	t.Helper()
	got, err := u.do(t.Context(), method, path, body)
	if err != nil {
		t.Fatalf("%s: %s %s: %v", u.name, method, path, err)
	}
	return got
}

// must sends a request, fails the test unless it succeeds, and returns the body.
func (u *user) must(t *testing.T, method, path, body string) string {
	t.Helper()
	got := u.send(t, method, path, body)
	if got.status >= http.StatusBadRequest {
		t.Fatalf("%s: %s %s: %d %s", u.name, method, path, got.status, got.body)
	}
	return got.body
}

// tokenOf requests a token of a service account.
func tokenOf(t *testing.T, client kubernetes.Interface, namespace, account string, spec authenticationv1.TokenRequestSpec) string {
	t.Helper()
	request, err := client.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), account,
		&authenticationv1.TokenRequest{Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}
