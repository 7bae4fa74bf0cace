package doctor_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/cli/doctor"
	"holdfast.dev/holdfast/internal/waittest"
)

// run runs the command and returns its output and exit code.
func run(t *testing.T, args ...string) (string, int) {
	t.Helper()
	cmd := doctor.New("test")
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(t.Context())
	code := command.Code(cmd, err)
	switch {
	case err == nil || code == command.ExitRefused && onlyDisk(out.String()):
		return out.String(), command.ExitDone
	}
	return out.String() + err.Error(), code
}

// finding matches the line of a check with a finding.
var finding = regexp.MustCompile(`(?m)^(\S+) +(warning|error) `)

// onlyDisk reports whether the only finding is that the machine of the test has little space on its disk.
func onlyDisk(out string) bool {
	found := finding.FindAllStringSubmatch(out, -1)
	return len(found) == 1 && found[0][1] == "disk"
}

// want fails the test if a text is missing in the output.
func want(t *testing.T, out string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(out, text) {
			t.Errorf("the output has no %q:\n%s", text, out)
		}
	}
}

// broken are objects that do not work, by the path of their collection.
var broken = []struct{ path, object string }{
	{"/apis/apiextensions.k8s.io/v1/customresourcedefinitions", `{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "bells.doctor.example.com"},
		"spec": {"group": "doctor.example.com", "scope": "Namespaced", "names": {"plural": "bells", "kind": "Bell"},
			"conversion": {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://127.0.0.1:1/c"}}},
			"versions": [
				{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}},
				{"name": "v2", "served": true, "storage": false, "schema": {"openAPIV3Schema": {"type": "object"}}}]}}`},
	{"/apis/doctor.example.com/v1/namespaces/default/bells", `{
		"apiVersion": "doctor.example.com/v1", "kind": "Bell", "metadata": {"name": "big"}}`},
	{"/apis/apiextensions.k8s.io/v1/customresourcedefinitions", `{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "gongs.doctor.example.com"},
		"spec": {"group": "doctor.example.com", "scope": "Namespaced", "names": {"plural": "gongs", "kind": "Bell"},
			"versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}]}}`},
	{"/apis/apiregistration.k8s.io/v1/apiservices", `{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": "v1.away.example.com"},
		"spec": {"group": "away.example.com", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1,
			"insecureSkipTLSVerify": true, "service": {"namespace": "default", "name": "away"}}}`},
	{"/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", `{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "silent"},
		"webhooks": [{"name": "silent.doctor.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"], "failurePolicy": "Ignore",
			"clientConfig": {"url": "https://127.0.0.1:1/"},
			"rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["nodes"]}]}]}`},
	{"/api/v1/nodes", `{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "lost"}}`},
	{"/api/v1/nodes", `{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "silent"}}`},
	{"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases", `{
		"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "silent"},
		"spec": {"holderIdentity": "holdfast-node/silent", "renewTime": "2020-01-01T00:00:00.000000Z"}}`},
}

// breakServer creates the broken objects, and a Node whose agent does not report.
func breakServer(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	rest := client.Discovery().RESTClient()
	for _, b := range broken {
		waittest.Until(t, "POST "+b.path, func() bool {
			err := rest.Post().AbsPath(b.path).SetHeader("Content-Type", "application/json").Body([]byte(b.object)).Do(t.Context()).Error()
			return err == nil || apierrors.IsAlreadyExists(err)
		})
	}
	// The server learns of the webhook a moment later. Before that, it does not call it.
	waittest.Until(t, "a call of the webhook", func() bool {
		node := []byte(`{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "probe"}}`)
		err := rest.Post().AbsPath("/api/v1/nodes").Param("dryRun", "All").SetHeader("Content-Type", "application/json").Body(node).Do(t.Context()).Error()
		if err != nil {
			t.Fatal(err)
		}
		metrics, err := rest.Get().AbsPath("/metrics").Do(t.Context()).Raw()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(metrics), `apiserver_admission_webhook_fail_open_count{name="silent.doctor.example.com"`)
	})
	patch := []byte(`{"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}`)
	err := rest.Patch("application/merge-patch+json").AbsPath("/api/v1/nodes/lost/status").Body(patch).Do(t.Context()).Error()
	if err != nil {
		t.Fatal(err)
	}
}

// awaitHealthy runs the command until it has no finding. On a busy machine the disk and the server can be too slow for that. The machine may have little
// free space.
func awaitHealthy(t *testing.T, args ...string) (out string) {
	t.Helper()
	waittest.Until(t, "no finding", func() error {
		var code int
		out, code = run(t, args...)
		_, next, found := strings.Cut(out, "What to do next:\n")
		if isDisk := strings.TrimSpace(next) == "- disk: free space before the disk is full"; (found || code != 0) && !isDisk {
			return errors.New(out)
		}
		return nil
	})
	return out
}

// TestDoctor examines a server that works, then one with broken objects, then its data after it has
// stopped.
func TestDoctor(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	server := servertest.Start(t, apiserver.Config{DataDir: dir, Version: "test", CacheAuditInterval: time.Hour})
	client := server.Client(t)
	waittest.Until(t, "a leader", func() error {
		_, err := client.CoordinationV1().Leases("kube-system").Get(t.Context(), servertest.ControllersLease, metav1.GetOptions{})
		return err
	})
	var code int
	out := awaitHealthy(t, "--kubeconfig", server.Kubeconfig())
	want(t, out, "CHECK", "serves Kubernetes v1.", "same time", "the server is ready", "the client certificate ends in 36",
		"server and this program are test", "none ends within 30 days", "in-process: version 3.", " is the leader", "objects can be read",
		"none differed from etcd in 0 comparisons")

	breakServer(t, client)
	// The server notices after a moment that nothing serves the aggregated API.
	waittest.Until(t, "the findings", func() bool {
		out, code = run(t, "--kubeconfig", server.Kubeconfig())
		return strings.Contains(out, "v1.away.example.com is not available") && strings.Contains(out, "gongs.doctor.example.com is not ")
	})
	if code != 1 {
		t.Errorf("exit code %d for a server with findings", code)
	}
	want(t, out, "objects of bells.doctor.example.com cannot be read in version v2: conversion webhook",
		"silent.doctor.example.com did not answer ", "1 of 2 are not ready: lost",
		"1 of 2 have not renewed their Lease in time: silent", "What to do next:\n",
		"definitions: if a conversion webhook is down, start it", "kubectl describe crd gongs.doctor.example.com",
		"kubectl delete apiservice v1.away.example.com")

	metrics, err := client.Discovery().RESTClient().Get().AbsPath("/metrics").Do(t.Context()).Raw()
	if err != nil {
		t.Fatal(err)
	}
	checkDist(t, string(metrics))

	out, code = run(t, "--kubeconfig", server.Kubeconfig(), "-o", "json")
	var decoded struct {
		Checks []struct{ Check, State, Message, Next string }
	}
	if err := json.Unmarshal([]byte(out), &decoded); err != nil || code != 1 || len(decoded.Checks) < 12 {
		t.Errorf("JSON with %d checks, exit code %d: %v", len(decoded.Checks), code, err)
	}
	for _, c := range decoded.Checks {
		if bad := c.State == "warning" || c.State == "error"; bad != (c.Next != "") {
			t.Errorf("check %s is %s, and next: %q", c.Check, c.State, c.Next)
		}
	}

	out, code = run(t, "--data-dir", dir)
	want(t, out, "in use by another holdfast server", "ask it: holdfast doctor --kubeconfig")
	if code != 2 {
		t.Errorf("exit code %d for data in use", code)
	}
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	out = awaitHealthy(t, "--data-dir", dir)
	want(t, out, dir+" can be opened", "none ends within 30 days", "are free in the file system")
	out, code = run(t, "--kubeconfig", server.Kubeconfig())
	want(t, out, "connection refused", "start the server, or examine its data")
	if code != 2 {
		t.Errorf("exit code %d for a server that is stopped", code)
	}
}

// TestNothingToExamine checks the exit code if there is nothing that the command can examine.
func TestNothingToExamine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	missing, closed := filepath.Join(dir, "missing"), filepath.Join(dir, "closed.kubeconfig")
	kubeconfig := "apiVersion: v1\nkind: Config\ncurrent-context: a\nclusters: [{name: a, cluster: {server: 'https://127.0.0.1:1'}}]\n" +
		"contexts: [{name: a, context: {cluster: a}}]\n"
	if err := os.WriteFile(closed, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"--data-dir", dir}, "is not the data directory of a server"},
		{[]string{"--data-dir", missing}, "is not the data directory of a server"},
		{[]string{"--data-dir", missing, "-o", "json"}, `"state": "error"`},
		{[]string{"--root", dir}, "no agent has been here"},
		{[]string{"--root", missing}, "no agent has been here"},
		{[]string{"--kubeconfig", closed}, "connection refused"},
		{[]string{"--kubeconfig", closed, "-o", "yaml"}, "state: error"},
		{[]string{"--kubeconfig", missing}, "your kubeconfig: "},
		{[]string{"--data-dir", dir, "--root", dir}, "use one of them"},
		{[]string{"-o", "xml"}, "must be json or yaml"},
		{[]string{"--wrong"}, "unknown flag"},
		{[]string{"argument"}, "argument"},
	} {
		out, code := run(t, test.args...)
		if code != 2 {
			t.Errorf("%s: exit code %d\n%s", test.args, code, out)
		}
		want(t, out, test.want)
	}
}

// TestDoctorDamaged checks that data that the server cannot use is a finding.
func TestDoctorDamaged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"pki/ca.key", "etcd"} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("damaged"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, code := run(t, "--data-dir", dir)
	want(t, out, "error", "if the data is damaged, restore a backup")
	if code != 1 {
		t.Errorf("exit code %d for damaged data", code)
	}
}

func TestMain(m *testing.M) {
	servertest.Quiet()
	os.Exit(m.Run())
}
