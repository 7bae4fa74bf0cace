package series_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/cli"
	"holdfast.dev/holdfast/internal/series"
	"holdfast.dev/holdfast/internal/yamltest"
)

const web = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      imagePullSecrets: [{name: settings}]
      containers: [{name: web, image: 'example.com/web:1', envFrom: [{secretRef: {name: settings}}]}]
`

// TestChangedMeanwhile lets another client write the workload before each of the first writes of a roll: the tries, the change of the
// managed fields and the apply itself. The roll reads the workload again and keeps the changes of the other client.
func TestChangedMeanwhile(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{})
	client := server.Client(t)
	create(t, client)
	var writes atomic.Int32
	kubeconfig := proxied(t, server.Config(t), func(http.ResponseWriter) bool {
		if n := writes.Add(1); n == 1 || n == 4 || n == 7 || n == 11 {
			change(t, client)
		}
		return false
	})
	if out, err := roll(t, kubeconfig); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got, err := client.AppsV1().Deployments("default").Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	spec := got.Spec.Template.Spec
	if pull := spec.ImagePullSecrets; len(pull) != 1 || !strings.HasPrefix(pull[0].Name, "settings-") {
		t.Errorf("imagePullSecrets are %v", pull)
	}
	if from := spec.Containers[0].EnvFrom; len(from) != 1 || !strings.HasPrefix(from[0].SecretRef.Name, "settings-") {
		t.Errorf("envFrom is %v", from)
	}
	if got.Annotations["changes"] != "xxxx" || *got.Spec.Replicas != 4 {
		t.Errorf("the other client's changes are %q, %d replicas", got.Annotations["changes"], *got.Spec.Replicas)
	}
}

// TestRollTwice lets another roll with the same content do all before the first write of a roll.
func TestRollTwice(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{})
	client := server.Client(t)
	create(t, client)
	var writes atomic.Int32
	kubeconfig := proxied(t, server.Config(t), func(http.ResponseWriter) bool {
		if writes.Add(1) == 1 {
			if out, err := roll(t, server.Kubeconfig()); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		}
		return false
	})
	out, err := roll(t, kubeconfig)
	if err != nil || !strings.HasSuffix(out, " exists already, and the references point to it: nothing to do\n") {
		t.Errorf("%v, got:\n%s", err, out)
	}
	secrets, err := client.CoreV1().Secrets("default").List(t.Context(), metav1.ListOptions{LabelSelector: series.Label})
	if err != nil || len(secrets.Items) != 1 {
		t.Errorf("secrets are %v, %v", secrets.Items, err)
	}
}

// TestOtherConflict checks that a roll takes no field over that is not a reference.
func TestOtherConflict(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{})
	client := server.Client(t)
	create(t, client)
	kubeconfig := proxied(t, server.Config(t), func(w http.ResponseWriter) bool {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusConflict)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict","code":409,"message":"Apply failed","details":`+
			`{"causes":[{"reason":"FieldManagerConflict","message":"conflict with \"ci\" using apps/v1","field":".spec.replicas"}]}}`)
		return true
	})
	_, err := roll(t, kubeconfig)
	want := `deployment.apps/web: spec.replicas would change, which is no reference to the series: conflict with "ci" using apps/v1; `
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v", err)
	}
	secrets, err := client.CoreV1().Secrets("default").List(t.Context(), metav1.ListOptions{LabelSelector: series.Label})
	if err != nil || len(secrets.Items) > 0 {
		t.Errorf("secrets are %v, %v", secrets.Items, err)
	}
}

// TestMemberDeletedMeanwhile deletes a member that the command has found before each write of the workload, as the server may: no object refers
// to it until then.
func TestMemberDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"roll":     {"roll", "secret/settings", "--from-literal", "a=b", "--all"},
		"rollback": {"rollback", "secret/settings", "--to", "settings-5546dd5ht8"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := servertest.Start(t, apiserver.Config{})
			client := server.Client(t)
			create(t, client)
			for _, content := range []string{"a=b", "a=c"} {
				if out, err := run(t, server.Kubeconfig(), "roll", "secret/settings", "--from-literal", content, "--all"); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
			}
			secrets := client.CoreV1().Secrets("default")
			mark := `{"metadata":{"labels":{"team":"a"},"annotations":{"holdfast.dev/unused-since":"2026-01-01T00:00:00Z"}}}`
			if _, err := secrets.Patch(t.Context(), "settings-5546dd5ht8", types.MergePatchType, []byte(mark), metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			kubeconfig := proxied(t, server.Config(t), func(http.ResponseWriter) bool {
				if err := secrets.Delete(t.Context(), "settings-5546dd5ht8", metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
					t.Error(err)
				}
				return false
			})
			out, err := run(t, kubeconfig, args...)
			if err != nil || !strings.HasSuffix(out, "secret/settings-5546dd5ht8 was deleted meanwhile, and is created again\n") {
				t.Errorf("%v, got:\n%s", err, out)
			}
			got, err := secrets.Get(t.Context(), "settings-5546dd5ht8", metav1.GetOptions{})
			if err != nil || string(got.Data["a"]) != "b" || got.Immutable == nil || !*got.Immutable || got.Labels[series.Label] != "settings" ||
				got.Labels["team"] != "a" || len(got.Annotations) > 0 {
				t.Errorf("the member is %v, %v", got, err)
			}
		})
	}
}

// TestMemberDeletedAndReplaced checks a roll whose member cannot be created again, because another client has taken its name.
func TestMemberDeletedAndReplaced(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{})
	client := server.Client(t)
	create(t, client)
	for _, content := range []string{"a=b", "a=c"} {
		if out, err := run(t, server.Kubeconfig(), "roll", "secret/settings", "--from-literal", content, "--all"); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	secrets := client.CoreV1().Secrets("default")
	var once sync.Once
	kubeconfig := proxied(t, server.Config(t), func(http.ResponseWriter) bool {
		once.Do(func() {
			other := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "settings-5546dd5ht8"}}
			if err := secrets.Delete(t.Context(), other.Name, metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
			if _, err := secrets.Create(t.Context(), other, metav1.CreateOptions{}); err != nil {
				t.Error(err)
			}
		})
		return false
	})
	out, err := roll(t, kubeconfig)
	want := `secret/settings-5546dd5ht8 was deleted meanwhile, and another client has created it with other content. References point to it: ` +
		`run "holdfast series rollback secret/settings --to HASH" with another member`
	if err == nil || err.Error() != want {
		t.Errorf("%v, got:\n%s", err, out)
	}
}

func create(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	object := yamltest.Decode[appsv1.Deployment](t, web)
	if _, err := client.AppsV1().Deployments("default").Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func roll(t *testing.T, kubeconfig string) (string, error) {
	t.Helper()
	return run(t, kubeconfig, "roll", "secret/settings", "--from-literal", "a=b", "--all")
}

// run runs a command of holdfast series.
func run(t *testing.T, kubeconfig string, args ...string) (string, error) {
	t.Helper()
	var out strings.Builder
	args = append(append([]string{"series"}, args...), "--kubeconfig", kubeconfig)
	err := cli.Run(t.Context(), cli.Streams{In: strings.NewReader(""), Out: &out, Err: &out}, args)
	return out.String(), err
}

// change is a write of another client.
func change(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	deployments := client.AppsV1().Deployments("default")
	live, err := deployments.Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Error(err)
		return
	}
	patch := `{"metadata":{"annotations":{"changes":"` + live.Annotations["changes"] + `x"}},"spec":{"replicas":4}}`
	if _, err := deployments.Patch(t.Context(), "web", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Error(err)
	}
}

// proxied starts a proxy in front of a server, which calls a function before it forwards a patch of the Deployment. If the function returns true,
// it has answered the request itself. proxied returns a kubeconfig for the proxy.
func proxied(t *testing.T, config *rest.Config, before func(http.ResponseWriter) bool) string {
	t.Helper()
	return proxiedWith(t, config, func(w http.ResponseWriter, req *http.Request) bool {
		return req.Method == http.MethodPatch && strings.HasSuffix(req.URL.Path, "/deployments/web") && before(w)
	})
}

// proxiedWith is proxied for every request.
func proxiedWith(t *testing.T, config *rest.Config, before func(http.ResponseWriter, *http.Request) bool) string {
	t.Helper()
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if !before(w, req) {
			proxy.ServeHTTP(w, req)
		}
	}))
	t.Cleanup(front.Close)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := "apiVersion: v1\nkind: Config\ncurrent-context: a\nclusters: [{name: a, cluster: {server: '" + front.URL + "'}}]\n" +
		"contexts: [{name: a, context: {cluster: a, namespace: default}}]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
