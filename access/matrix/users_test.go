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

	"holdfast.dev/holdfast/apiserver/servertest"
	"holdfast.dev/holdfast/cli"
)

// user is somebody with a credential.
type user struct {
	name   string
	config *rest.Config
	http   *http.Client
	// headers are sent with every request.
	headers map[string]string
}

func newUser(t *testing.T, name string, config *rest.Config) *user {
	t.Helper()
	// HTTP/1 with a connection each: a watch that is left does not disturb others.
	config.TLSClientConfig.NextProtos = []string{"http/1.1"}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	return &user{name: name, config: config, http: client}
}

// certified is a user with a certificate, got as people get theirs: by the
// command, with the administrator's credential.
func certified(t *testing.T, server *servertest.Server, name string, args ...string) *user {
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

// bearer is a user with a token.
func bearer(t *testing.T, server *servertest.Server, name, token string) *user {
	t.Helper()
	config := rest.AnonymousClientConfig(server.Config(t))
	config.BearerToken, config.QPS = token, -1
	return newUser(t, name, config)
}

// anonymous is who has no credential.
func anonymous(t *testing.T, server *servertest.Server) *user {
	t.Helper()
	return newUser(t, "anonymous", rest.AnonymousClientConfig(server.Config(t)))
}

// with is the same user who sends headers too.
func (u *user) with(headers map[string]string) *user {
	other := *u
	other.headers = headers
	return &other
}

func (u *user) client() kubernetes.Interface { return kubernetes.NewForConfigOrDie(u.config) }

// answer is a response to a request.
type answer struct {
	status int
	body   string
}

// do sends a request; a watch is left as soon as it is answered.
func (u *user) do(ctx context.Context, method, path, body string) (answer, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, u.config.Host+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		request.Header.Set("Content-Type", "application/merge-patch+json")
	}
	for name, value := range u.headers {
		request.Header.Set(name, value)
	}
	response, err := u.http.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = response.Body.Close() }()
	if strings.Contains(path, "watch=true") && response.StatusCode == http.StatusOK {
		return answer{status: response.StatusCode}, nil
	}
	content, err := io.ReadAll(response.Body)
	return answer{status: response.StatusCode, body: string(content)}, err
}

// ask is do for tests that cannot go on without an answer.
func (u *user) ask(t *testing.T, method, path, body string) answer {
	t.Helper()
	got, err := u.do(t.Context(), method, path, body)
	if err != nil {
		t.Fatalf("%s: %s %s: %v", u.name, method, path, err)
	}
	return got
}

// must fails the test unless the request succeeds.
func (u *user) must(t *testing.T, method, path, body string) string {
	t.Helper()
	got := u.ask(t, method, path, body)
	if got.status >= http.StatusBadRequest {
		t.Fatalf("%s: %s %s: %d %s", u.name, method, path, got.status, got.body)
	}
	return got.body
}

// tokenOf is a token of a service account, got as its owner gets it.
func tokenOf(t *testing.T, client kubernetes.Interface, namespace, account string, spec authenticationv1.TokenRequestSpec) string {
	t.Helper()
	request, err := client.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), account,
		&authenticationv1.TokenRequest{Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}
