package cli_test

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"holdfast.dev/holdfast/internal/cli"
	"holdfast.dev/holdfast/internal/waittest"
)

// run runs a command line and returns what it prints.
func run(ctx context.Context, args ...string) (string, error) {
	var out bytes.Buffer
	err := cli.Run(ctx, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &out}, args)
	return out.String(), err
}

func TestVersion(t *testing.T) {
	out, err := run(t.Context(), "version")
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^holdfast \S+\ngo go1\.\d+\S* \S+/\S+\nkubernetes v1\.37\.2\n$`).MatchString(out) {
		t.Errorf("got %q", out)
	}
}

func TestHelpListsFlags(t *testing.T) {
	out, err := run(t.Context(), "serve", "--help")
	if err != nil {
		t.Fatal(err)
	}
	for _, flag := range []string{
		"--data-dir", "--bind-address", "--secure-port", "--kubeconfig", "--feature-gates",
		"--etcd-servers", "--etcd-cafile", "--etcd-certfile", "--etcd-keyfile",
	} {
		if !strings.Contains(out, flag) {
			t.Errorf("%s is not in the help", flag)
		}
	}
}

// TestLogFlags checks that the commands of kubectl have its flags for logging.
func TestLogFlags(t *testing.T) {
	out, err := run(t.Context(), "options")
	if err != nil {
		t.Fatal(err)
	}
	for _, flag := range []string{"-v, --v=", "--vmodule=", "--log-flush-frequency="} {
		if !strings.Contains(out, flag) {
			t.Errorf("%s is not in the options", flag)
		}
	}
	for _, args := range [][]string{{"-v", "0", "config", "view"}, {"config", "view", "--v=0", "--vmodule="}} {
		if out, err := run(t.Context(), args...); err != nil {
			t.Errorf("%s: %v\n%s", args, err, out)
		}
	}
}

func TestWrongCommandLines(t *testing.T) {
	cases := map[string]struct {
		args []string
		want string
	}{
		"unknown command":  {[]string{"sirve"}, `unknown command "sirve" for "holdfast"`},
		"unknown flag":     {[]string{"serve", "--prot", "1"}, "unknown flag: --prot\nSee 'holdfast serve --help' for usage"},
		"command in kudo":  {[]string{"kudo", "instal"}, "\"holdfast kudo\"\nDid you mean install?\nSee 'holdfast kudo --help' for usage"},
		"similar flag":     {[]string{"serve", "--data-dirs", "x"}, "unknown flag: --data-dirs\nDid you mean --data-dir?\nSee 'holdfast serve"},
		"transfer nothing": {[]string{"transfer"}, "name an object: TYPE NAME or TYPE/NAME"},
		"package server":   {[]string{"kudo", "install", "http://127.0.0.1:1/x.tgz"}, "127.0.0.1:1: connect: connection refused"},
		"output format":    {[]string{"version", "-o", "xml"}, `output "xml": must be json or yaml`},
		"extra argument":   {[]string{"serve", "now"}, "unexpected argument \"now\": the command takes none\nSee 'holdfast serve --help' for usage"},
		"not a port":       {[]string{"serve", "--secure-port", "x"}, `invalid argument "x" for "--secure-port"`},
		"port too large":   {[]string{"serve", "--data-dir", t.TempDir(), "--secure-port", "70000"}, "port 70000: must be between 0 and 65535"},
		"no user":          {[]string{"kubeconfig"}, "name a USER, or a node with --node"},
		"administrators":   {[]string{"kubeconfig", "x", "--group", "system:masters"}, "bind the role cluster-admin instead"},
		"nodes by group":   {[]string{"kubeconfig", "x", "--group", "system:nodes"}, "use --node NAME"},
		"name of a node":   {[]string{"kubeconfig", "--node", "Host_1"}, `--node: "Host_1" cannot be the name of a node: `},
		"name of an agent": {[]string{"node", "--name", "Host_1"}, `--name: "Host_1" cannot be the name of a node: `},
		"node and user":    {[]string{"kubeconfig", "x", "--node", "n"}, "omit USER and --group"},
		"short duration":   {[]string{"kubeconfig", "x", "--duration", "9m"}, "--duration 9m0s: must be between 10m and 8760h"},
		"long duration":    {[]string{"kubeconfig", "x", "--duration", "8761h"}, "--duration 8761h0m0s: must be between 10m and 8760h"},
		"revoke nothing":   {[]string{"revoke"}, "name a --user, --node, --serial or --credential, or use --list"},
		"list and revoke":  {[]string{"revoke", "--list", "--user", "x"}, "--list stands alone"},
		"no serial number": {[]string{"revoke", "--serial", "x"}, `--serial: "x" is not a number in hexadecimal`},
		"no time":          {[]string{"revoke", "--user", "x", "--issued-before", "noon"}, `--issued-before "noon": neither now nor a time`},
		"time of a serial": {
			[]string{"revoke", "--serial", "1", "--issued-before", "now"}, "--issued-before is for revoking a --user or --node",
		},
		"remove with a time":     {[]string{"revoke", "--remove", "--user", "x", "--issued-before", "now"}, "--issued-before is for revoking"},
		"restore nowhere":        {[]string{"restore", "x"}, "name a new directory with --data-dir, or use --check"},
		"restore and check":      {[]string{"restore", "x", "--check", "--data-dir", "d"}, "name a new directory with --data-dir, or use --check"},
		"backup of two servers":  {[]string{"backup", "x", "--data-dir", "d", "--kubeconfig", "k"}, "--data-dir is for a server that is stopped"},
		"backup without a place": {[]string{"backup", "x", "--etcd-servers", "http://e"}, "name its --data-dir too"},
		"short tokens": {
			[]string{"serve", "--data-dir", t.TempDir(), "--service-account-max-token-expiration", "59m"},
			"the service-account-max-token-expiration must be between 1 hour and 2^32 seconds",
		},
		"short certificates": {
			[]string{"serve", "--data-dir", t.TempDir(), "--cluster-signing-duration", "9m"},
			"the cluster-signing-duration must be between 10m0s and 8760h0m0s",
		},
		"anonymous":    {[]string{"serve", "--anonymous-auth", "maybe"}, "invalid argument"},
		"unknown gate": {[]string{"serve", "--feature-gates", "Nothing=true"}, "unrecognized feature gate: Nothing"},
		"gate not boolean": {
			[]string{"serve", "--feature-gates", "ImmutableEphemeralVolumes=maybe"},
			"invalid value of ImmutableEphemeralVolumes=maybe",
		},
		"gate without value": {
			[]string{"serve", "--feature-gates", "ImmutableEphemeralVolumes"},
			"missing bool value for ImmutableEphemeralVolumes",
		},
		"unwritable directory": {[]string{"serve", "--data-dir", filepath.Join(os.DevNull, "data")}, "data directory:"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := run(t.Context(), c.args...)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			if strings.Contains(err.Error(), "start that server") {
				t.Errorf("advice about another server: %v", err)
			}
		})
	}
}

// TestNoKubeconfig checks that the commands that need a server say how to name one.
func TestNoKubeconfig(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	for _, args := range [][]string{{"kubeconfig", "jane"}, {"revoke", "--list"}, {"node", "--name", "n"}, {"kudo", "get"}} {
		_, err := run(t.Context(), args...)
		if err == nil || !strings.HasPrefix(err.Error(), "no kubeconfig in $KUBECONFIG") {
			t.Errorf("%s: got %v", args, err)
		}
	}
}

// TestServerAway checks that the error about a server that does not listen says what to do.
func TestServerAway(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	const text = "clusters: [{name: a, cluster: {server: 'https://127.0.0.1:1'}}]\n" +
		"contexts: [{name: a, context: {cluster: a, user: a}}]\ncurrent-context: a\nusers: [{name: a, user: {token: a}}]\n"
	if err := os.WriteFile(file, []byte("apiVersion: v1\nkind: Config\n"+text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"kubeconfig", "jane"}, {"revoke", "--list"}, {"backup", filepath.Join(t.TempDir(), "b")}, {"kudo", "get"}} {
		_, err := run(t.Context(), append(args, "--kubeconfig", file)...)
		if err == nil || !strings.HasSuffix(err.Error(), "start that server, or name the kubeconfig of another one with --kubeconfig") {
			t.Errorf("%s: got %v", args, err)
		}
	}
}

// TestPortInUse checks that the error about a busy port names the flag for another one.
func TestPortInUse(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	port := strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
	_, err = run(t.Context(), "serve", "--data-dir", t.TempDir(), "--secure-port", port)
	if err == nil || !strings.HasSuffix(err.Error(), "address already in use: choose another port with --secure-port") {
		t.Errorf("got %v", err)
	}
}

// lines is a writer that sends each write to a channel.
type lines chan string

// Write implements io.Writer.
func (l lines) Write(data []byte) (int, error) {
	l <- string(data)
	return len(data), nil
}

// TestServe checks that serve prints one line when it is ready, and returns without an error
// when its context ends.
func TestServe(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, done := make(lines, 1), make(chan error, 1)
	go func() {
		done <- cli.Run(ctx, cli.Streams{Out: out, Err: out}, []string{
			"serve", "--data-dir", dir, "--secure-port", "0",
			"--cluster-signing-duration", "48h", "--service-account-max-token-expiration", "2h",
		})
	}()
	select {
	case line := <-out:
		kubeconfig := regexp.QuoteMeta(filepath.Join(dir, "admin.kubeconfig"))
		want := `^holdfast: ready at https://127\.0\.0\.1:\d+, kubeconfig ` + kubeconfig + "\n$"
		if !regexp.MustCompile(want).MatchString(line) {
			t.Errorf("got %q", line)
		}
	case err := <-done:
		t.Fatal(err)
	case <-time.After(waittest.Patience):
		t.Fatalf("the server is not ready after %s", waittest.Patience)
	}
	testDryRuns(t, filepath.Join(dir, "admin.kubeconfig"))
	testKubeconfig(t, filepath.Join(dir, "admin.kubeconfig"))
	testKubeconfigFile(t, filepath.Join(dir, "admin.kubeconfig"))
	testRevoke(t, filepath.Join(dir, "admin.kubeconfig"))
	testMigrate(t, filepath.Join(dir, "admin.kubeconfig"))
	testBackup(t, filepath.Join(dir, "admin.kubeconfig"))
	testTokenLifetime(t, filepath.Join(dir, "admin.kubeconfig"))
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// testKubeconfig requests kubeconfigs from a running server and checks their users.
func testKubeconfig(t *testing.T, admin string) {
	t.Helper()
	cases := map[string]struct {
		args   []string
		user   string
		groups []string
	}{
		"a person": {[]string{"jane", "--group", "dev", "--group", "ops"}, "jane", []string{"dev", "ops", "system:authenticated"}},
		"a node":   {[]string{"--node", "n1"}, "system:node:n1", []string{"system:nodes", "system:authenticated"}},
	}
	for name, c := range cases {
		text, err := run(t.Context(), append([]string{"kubeconfig", "--kubeconfig", admin}, c.args...)...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		config, err := clientcmd.RESTConfigFromKubeConfig([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		review, err := kubernetes.NewForConfigOrDie(config).AuthenticationV1().SelfSubjectReviews().Create(
			t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := review.Status.UserInfo; got.Username != c.user || !slices.Equal(got.Groups, c.groups) {
			t.Errorf("%s is %s of %v", name, got.Username, got.Groups)
		}
	}
}
