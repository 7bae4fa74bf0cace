package cli_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/cli"
)

// TestFlagsOfKubeAPIServer checks that serve knows the flags of kube-apiserver in the list. The list
// leaves out the flags that configure admission plugins.
func TestFlagsOfKubeAPIServer(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/kube-apiserver-flags.txt")
	if err != nil {
		t.Fatal(err)
	}
	known := cli.ServeFlags()
	for _, name := range strings.Fields(string(data)) {
		if !slices.Contains(known, name) {
			t.Errorf("--%s is unknown", name)
		}
	}
}

// TestForeignFlags checks the flags of kube-apiserver that change nothing here.
func TestForeignFlags(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args []string
		want string // in what the command prints, or in its error
	}{
		"without effect":  {[]string{"--goaway-chance=0.1"}, "holdfast: --goaway-chance has no effect: "},
		"boolean":         {[]string{"--enable-bootstrap-token-auth"}, "--enable-bootstrap-token-auth has no effect: "},
		"privileged":      {[]string{"--allow-privileged=false"}, "--allow-privileged=false is not possible here: the label"},
		"prefix":          {[]string{"--etcd-prefix", "/other"}, "--etcd-prefix=/other is not possible here: the prefix is fixed (accepted: /registry)"},
		"config":          {[]string{"--authorization-config=x"}, "Node and RBAC are the authorizers (accepted: no value)"},
		"mode":            {[]string{"--authorization-mode=AlwaysAllow"}, `--authorization-mode "AlwaysAllow": must be RBAC or Node,RBAC`},
		"only nodes":      {[]string{"--authorization-mode=Node"}, "RBAC is always on and must be among them"},
		"an API off":      {[]string{"--runtime-config=apps/v1=false"}, "--runtime-config apps/v1=false: no API can be turned off here"},
		"an unknown API":  {[]string{"--runtime-config=example.com/v1=true"}, "--runtime-config example.com/v1: the server does not have this API"},
		"a beta version":  {[]string{"--runtime-config=batch/v1beta1=true"}, "--runtime-config batch/v1beta1: the server does not have this API"},
		"half of a proxy": {[]string{"--proxy-client-cert-file=x"}, "proxy-client-cert-file and proxy-client-key-file belong together"},
		"proxy unknown":   {[]string{"--proxy-client-cert-file=x", "--proxy-client-key-file=y"}, "needs requestheader-client-ca-file"},
		"tolerations":     {[]string{"--default-not-ready-toleration-seconds=9"}, "pods tolerate a failed node for 300 seconds"},
		"two ranges":      {[]string{"--service-cluster-ip-range=10.0.0.0/16,fd00::/108"}, "must be one range of IPv4 addresses"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// The port is not possible, so that no case starts a server.
			out, err := run(t.Context(), append([]string{"serve", "--data-dir", t.TempDir(), "--secure-port=-1"}, test.args...)...)
			if err == nil || !strings.Contains(out+err.Error(), test.want) {
				t.Errorf("got %q, %v, want %q", out, err, test.want)
			}
		})
	}
}

// TestSettingsFile checks what serve takes from a file.
func TestSettingsFile(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text string
		args []string
		want string
	}{
		"a number":         {"secure-port: 70000", nil, "port 70000: must be between"},
		"command line":     {"secure-port: 70000", []string{"--secure-port=70001"}, "port 70001: must be between"},
		"a list":           {"authorization-mode: [Node, AlwaysAllow]", nil, `--authorization-mode "AlwaysAllow"`},
		"a map":            {"runtime-config: {apps/v1: false}", nil, "--runtime-config apps/v1=false"},
		"a foreign flag":   {"allow-privileged: false", nil, "--allow-privileged=false is not possible"},
		"an unknown flag":  {"secure-prot: 1", nil, `no flag has the name "secure-prot"`},
		"the file itself":  {"config: x", nil, `no flag has the name "config"`},
		"a name twice":     {"secure-port: 1\nsecure-port: 2", nil, `key "secure-port" already set in map`},
		"a wrong value":    {"secure-port: many", nil, `invalid argument "many" for "--secure-port"`},
		"nothing":          {"secure-port:", nil, "secure-port: must be a text, a number, true, false, a list or a map"},
		"a map in a map":   {"runtime-config: {apps/v1: {a: b, c: d}}", nil, "apps/v1: must be a text"},
		"a duration":       {"event-ttl: 1ms\nsecure-port: 1", nil, "event-ttl 1ms: must be at least a second"},
		"no such file":     {"", []string{"--config=none.yaml"}, "--config: open none.yaml"},
		"not a YAML file":  {"a: [", nil, "--config "},
		"a boolean":        {"operators: maybe", nil, `invalid argument "maybe" for "--operators"`},
		"a list of arrays": {"service-account-issuer: ['http://%zz', b]", nil, `service-account-issuer "http://%zz": not a URL`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "serve.yaml")
			if err := os.WriteFile(file, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			args := append([]string{"serve", "--data-dir", t.TempDir(), "--config", file}, test.args...)
			ctx, cancel := context.WithCancel(t.Context())
			cancel() // a case without an error must not serve
			if out, err := run(ctx, args...); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %q, %v, want %q", out, err, test.want)
			}
		})
	}
}

// TestProgramNames checks which command the program runs under other names.
func TestProgramNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"/usr/bin/kube-apiserver": {"serve", "--controllers=-*", "--operators=false", "--help"},
		"kubectl-kudo":            {"kudo", "--help"},
		"kubectl-holdfast":        {"--help"},
	} {
		if diff := cmp.Diff(want, cli.Arguments([]string{name, "--help"})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if out, err := run(t.Context(), "serve", "--version"); err != nil || out != "Kubernetes v1.37.2+holdfast\n" {
		t.Errorf("got %q, %v", out, err)
	}
}
