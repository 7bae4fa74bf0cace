package cli_test

import (
	"regexp"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"holdfast.dev/holdfast/internal/waittest"
)

// testRevoke revokes credentials of a running server, lists them and takes them back.
func testRevoke(t *testing.T, admin string) {
	t.Helper()
	text, err := run(t.Context(), "kubeconfig", "joe", "--kubeconfig", admin)
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	joe := kubernetes.NewForConfigOrDie(config)
	isUnauthorized := func() bool {
		_, err := joe.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
		return apierrors.IsUnauthorized(err)
	}
	if isUnauthorized() {
		t.Fatal("joe cannot log in")
	}
	const time = `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`
	for _, step := range []struct {
		args string
		// want matches the output, or the error if the command fails.
		want         string
		unauthorized bool
	}{
		{"--list", `REVOKED   ISSUED BEFORE   ADDED   REASON\n`, false},
		{"--user joe --serial 00:AB --reason left", `user joe is revoked\nserial ab is revoked\n`, true},
		{"--node n1 --issued-before now", `node n1 is revoked\n`, true},
		{"--user joe --reason again", `user joe is revoked\n`, true},
		{"--list", `REVOKED +ISSUED BEFORE +ADDED +REASON\nserial ab +- +` + time + ` +left\n` +
			`node n1 +` + time + ` +` + time + ` +\nuser joe +- +` + time + ` +again\n`, true},
		{"--remove --user jane", `user jane is not revoked`, true},
		{"--remove --user joe --serial ab --node n1", `user joe is not revoked any more\n` +
			`node n1 is not revoked any more\nserial ab is not revoked any more\n`, false},
		{"--user holdfast-admin", `issuedBefore: Required value: for user holdfast-admin`, false},
		{"--list", `REVOKED   ISSUED BEFORE   ADDED   REASON\n`, false},
	} {
		out, err := run(t.Context(), append([]string{"revoke", "--kubeconfig", admin}, strings.Fields(step.args)...)...)
		if err != nil {
			out = err.Error()
		}
		if !regexp.MustCompile(step.want).MatchString(out) {
			t.Errorf("revoke %s: got %q, want %q", step.args, out, step.want)
		}
		waittest.Until(t, "the effect of revoke "+step.args, func() bool { return isUnauthorized() == step.unauthorized })
	}
}
