package cli_test

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"

	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/cli"
)

// testKubeconfigFile requests kubeconfigs for a limited time, written to files, from a server
// that signs certificates for at most 48 hours.
func testKubeconfigFile(t *testing.T, admin string) {
	t.Helper()
	for name, test := range map[string]struct {
		duration string
		life     time.Duration
		warning  string
	}{
		"short":          {"20m", 20 * time.Minute, ""},
		"as long as may": {"", 48 * time.Hour, ""},
		"too long":       {"72h", 48 * time.Hour, "warning: the server signs for a shorter time than 72h0m0s: the certificate is valid until "},
	} {
		file := filepath.Join(t.TempDir(), "jane.kubeconfig")
		args := []string{"kubeconfig", "jane", "--kubeconfig", admin, "--output-file", file}
		if test.duration != "" {
			args = append(args, "--duration", test.duration)
		}
		before := time.Now()
		out, err := run(t.Context(), args...)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		after := time.Now()
		config := servertest.Config(t, file)
		pair, err := tls.X509KeyPair(config.CertData, config.KeyData)
		if err != nil {
			t.Fatal(err)
		}
		// The times in a certificate are whole seconds.
		if end := pair.Leaf.NotAfter; end.Before(before.Add(test.life-time.Second)) || end.After(after.Add(test.life)) {
			t.Errorf("%s: the certificate of %s is valid until %s, want for %s", name, before, end, test.life)
		}
		want := fmt.Sprintf("%s written for jane: valid until %s, serial %x\n",
			file, pair.Leaf.NotAfter.Format(time.RFC3339), pair.Leaf.SerialNumber)
		if !strings.HasPrefix(out, test.warning) || !strings.HasSuffix(out, want) || test.warning == "" && out != want {
			t.Errorf("%s: got %q, want %q", name, out, test.warning+want)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, mode %v", name, err, info.Mode())
		}
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := run(t.Context(), args...); err == nil || !strings.Contains(err.Error(), "exists: name another file, or remove it first") {
			t.Errorf("%s: over a file that exists: %v", name, err)
		}
		if again, err := os.ReadFile(file); err != nil || string(again) != string(content) {
			t.Errorf("%s: the file changed (%v)", name, err)
		}
	}
	refused := filepath.Join(t.TempDir(), "refused.kubeconfig")
	if _, err := run(t.Context(), "kubeconfig", "jane", "--kubeconfig", "/nowhere", "--output-file", refused); err == nil {
		t.Error("made a kubeconfig without a server")
	}
	if _, err := os.Stat(refused); !os.IsNotExist(err) {
		t.Errorf("a refused request left a file: %v", err)
	}
	testKubeconfigFormat(t, admin)
	testExposedOutput(t, admin)
}

// testKubeconfigFormat checks that -o is a format, and that a path there is refused before a certificate is requested.
func testKubeconfigFormat(t *testing.T, admin string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "jane.json")
	if _, err := run(t.Context(), "kubeconfig", "jane", "--kubeconfig", admin, "-o", "json", "--output-file", file); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(file); err != nil || !json.Valid(text) {
		t.Errorf("-o json wrote %s (%v)", text, err)
	}
	servertest.Config(t, file)
	_, err := run(t.Context(), "kubeconfig", "jane", "--kubeconfig", admin, "-o", "jane.kubeconfig")
	var coded interface{ ExitCode() int }
	want := "kubeconfig: -o jane.kubeconfig: -o takes a format, yaml or json: if jane.kubeconfig is a path, write --output-file jane.kubeconfig"
	if err == nil || err.Error() != want || !errors.As(err, &coded) || coded.ExitCode() != 2 {
		t.Errorf("got %v, want %q with exit code 2", err, want)
	}
}

// testExposedOutput checks the warning for a kubeconfig on stdout that others can read.
func testExposedOutput(t *testing.T, admin string) {
	t.Helper()
	for mode, want := range map[os.FileMode]string{
		0o600: "", 0o640: "other users can read (mode 0640), and it has a private key", 0o644: "other users can read (mode 0644)",
	} {
		file, err := os.OpenFile(filepath.Join(t.TempDir(), "stdout"), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if err := file.Chmod(mode); err != nil {
			t.Fatal(err)
		}
		var stderr strings.Builder
		streams := cli.Streams{In: strings.NewReader(""), Out: file, Err: &stderr}
		if err := cli.Run(t.Context(), streams, []string{"kubeconfig", "jane", "--kubeconfig", admin}); err != nil {
			t.Fatal(err)
		}
		if got := stderr.String(); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("mode %o: got %q, want %q", mode, got, want)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := clientcmd.LoadFromFile(file.Name()); err != nil {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
}

// warnings collects the warnings of a server.
type warnings []string

func (w *warnings) HandleWarningHeader(_ int, _, text string) { *w = append(*w, text) }

// testTokenLifetime requests a token from a server that issues tokens for at most two hours.
func testTokenLifetime(t *testing.T, admin string) {
	t.Helper()
	var warned warnings
	config := servertest.Config(t, admin)
	config.WarningHandler = &warned
	client := kubernetes.NewForConfigOrDie(config)
	accounts := client.CoreV1().ServiceAccounts("default")
	robot := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}
	if _, err := accounts.Create(t.Context(), robot, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ seconds, want int64 }{{3600, 3600}, {7200, 7200}, {7201, 7200}} {
		warned = nil
		answer, err := accounts.CreateToken(t.Context(), "robot", &authenticationv1.TokenRequest{
			Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To(test.seconds)},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var want warnings
		if test.seconds != test.want {
			want = warnings{"requested expiration of 7201 seconds shortened to 7200 seconds"}
		}
		if got := *answer.Spec.ExpirationSeconds; got != test.want || fmt.Sprint(warned) != fmt.Sprint(want) {
			t.Errorf("%d seconds: got %d, warnings %q", test.seconds, got, warned)
		}
	}
}
