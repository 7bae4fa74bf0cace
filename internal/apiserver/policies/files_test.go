package policies_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

const filed = `
apiVersion: guard.holdfast.dev/v1beta1
kind: ImmutabilityPolicy
metadata: {name: filed}
spec:
  resources: [configmaps, clusterroles.rbac.authorization.k8s.io, events.example.com]
  rules:
  - immutable data
  - immutable rules
`

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	// The server may read the directory at any moment, and must not see half of a file.
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

// TestFiles checks policies in files: they are in force from the start, also for what no stored policy may guard, clients list them
// and cannot write them, and a change of a file is taken.
func TestFiles(t *testing.T) {
	t.Parallel()
	dir, data := t.TempDir(), t.TempDir()
	f := start(t, apiserver.Config{DataDir: data})
	f.policy("filed", `{resources: [secrets], rules: [immutable data]}`)
	f.create("default/secrets", `{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {a: x}}`)
	if err := f.server.Stop(); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "shop.yaml", filed)
	f = start(t, apiserver.Config{DataDir: data, RulesDir: dir})
	f.create(configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: x}}`)
	f.create("kube-system/configmaps", `{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: x}}`)
	f.create("clusterroles.v1.rbac.authorization.k8s.io", `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r}, rules: []}`)
	const forbids = "which policy filed forbids"
	f.want("the file", f.patch(configMaps, "c", `{data: {a: z}}`), forbids)
	f.want("kube-system", f.patch("kube-system/configmaps", "c", `{data: {a: z}}`), forbids)
	f.want("RBAC", f.patch("clusterroles.v1.rbac.authorization.k8s.io", "r",
		`{rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}`), forbids)
	f.want("the stored policy of this name", f.patch("default/secrets", "s", `{data: {a: eg==}}`), "ok")
	f.wantStatus("filed", "False", "without effect: the file shop.yaml of --rules-dir has a policy with this name")
	f.want("a write of this name", f.patch(policies, "filed", `{spec: {rules: [immutable type]}}`), "the policy is in the file shop.yaml of --rules-dir")
	if err := f.of(policies).Delete(t.Context(), "filed", metav1.DeleteOptions{}); err != nil {
		t.Errorf("the stored policy of this name: %v", err)
	}
	f.wantStatus("filed", "False", "configmaps: immutable rules: the resource has no such field")
	f.wantStatus("filed", "False", "events.example.com: the server does not have this resource") // only Events of Kubernetes are excluded
	err := f.of(policies).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: "metadata.name=filed"})
	f.want("a collection with this name", outcome(err), "the policy is in the file shop.yaml of --rules-dir")
	listed, err := f.of(policies).Get(t.Context(), "filed", metav1.GetOptions{})
	if err != nil || listed.GetAnnotations()["holdfast.dev/source"] != "file" {
		t.Errorf("listed %v, %v", listed, err)
	}
	err = f.of(policies).Delete(t.Context(), "filed", metav1.DeleteOptions{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "shop.yaml") {
		t.Errorf("delete: %v", err)
	}
	// A wrong file leaves the last policies in force.
	write(t, dir, "wrong.yaml", strings.Replace(filed, "immutable data", "frozen data", 1))
	waittest.Until(t, "the metric says that a file is wrong", func() bool { return f.metric("holdfast_rules_dir_wrong 1") })
	f.want("a wrong file", f.patch(configMaps, "c", `{data: {a: z}}`), forbids)
	if err := os.Remove(filepath.Join(dir, "wrong.yaml")); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "shop.yaml", strings.Replace(filed, "immutable data", "immutable binaryData", 1))
	waittest.Until(t, "the changed file is in force", func() error { return f.tryPatch(configMaps, "c", `{data: {a: z}}`) })
	f.want("the changed file", f.patch(configMaps, "c", `{binaryData: {a: eA==}}`), forbids)
	if err := os.Remove(filepath.Join(dir, "shop.yaml")); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the policy is gone with its file", func() bool {
		_, err := f.of(policies).Get(t.Context(), "filed", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

// TestFilesGuardDefinitions checks that a policy in a file guards CustomResourceDefinitions and requests for certificates, which stored
// policies cannot: their fields, their labels and their deletion.
func TestFilesGuardDefinitions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "kinds.yaml", `
apiVersion: guard.holdfast.dev/v1beta1
kind: ImmutabilityPolicy
metadata: {name: kinds}
spec:
  resources: [customresourcedefinitions.apiextensions.k8s.io]
  rules: [immutable spec.names.categories, no-delete, immutable status.storedVersions]
  objectSelector: {matchLabels: {fixed: "yes"}}
---
apiVersion: guard.holdfast.dev/v1beta1
kind: ImmutabilityPolicy
metadata: {name: requests}
spec:
  resources: [certificatesigningrequests.certificates.k8s.io, poddisruptionbudgets.policy]
  rules: [immutable status.conditions, immutable status.disruptionsAllowed]
`)
	f := start(t, apiserver.Config{RulesDir: dir})
	f.create(definitions, strings.Replace(widgetsDefinition, "{name: widgets.example.com}", `{name: widgets.example.com, labels: {fixed: "yes"}}`, 1))
	f.wantStatus("kinds", "True", "all rules are in force")
	const name, forbids = "widgets.example.com", "which policy kinds forbids"
	f.want("a field", f.patch(definitions, name, `{spec: {names: {categories: [all]}}}`), forbids)
	f.want("another field", f.patch(definitions, name, `{spec: {names: {shortNames: [w]}}}`), "ok")
	f.want("the status", f.patch(definitions, name, `{status: {storedVersions: [v1, v2]}}`, "status"), forbids)
	f.want("an old version", f.patch("customresourcedefinitions.v1beta1.apiextensions.k8s.io", name, `{spec: {names: {categories: [all]}}}`), forbids)
	f.want("a deletion", f.delete(definitions, name, metav1.DeleteOptions{}), `Conflict: `)
	const requests = "certificatesigningrequests.v1.certificates.k8s.io"
	f.create(requests, `{apiVersion: certificates.k8s.io/v1, kind: CertificateSigningRequest, metadata: {name: r},
  spec: {request: `+certificateRequest(t)+`, signerName: example.com/s, usages: [client auth]}}`)
	f.want("an approval", f.patch(requests, "r", `{status: {conditions: [{type: Approved, status: "True", reason: a, message: m}]}}`, "approval"),
		"which policy requests forbids")
	f.wantStatus("requests", "False", "poddisruptionbudgets.policy: an eviction sets status.disruptionsAllowed, which the rules do not judge")
}

// certificateRequest returns a request for a certificate in base64.
func certificateRequest(t *testing.T) string {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "a"}}, key)
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: request}))
}

// metric reports whether the metrics have a line.
func (f *fixture) metric(line string) bool { return strings.Contains(f.metrics(), "\n"+line+"\n") }

func (f *fixture) metrics() string {
	f.Helper()
	text, err := f.server.Client(f.TB).Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	return string(text)
}

// wantMetric checks that the metrics have a line.
func (f *fixture) wantMetric(line string) {
	f.Helper()
	if text := f.metrics(); !strings.Contains(text, "\n"+line+"\n") {
		name, _, _ := strings.Cut(line, " ")
		_, found, _ := strings.Cut(text, "\n"+name)
		found, _, _ = strings.Cut(found, "\n")
		f.Errorf("the metric is%s, want %s", found, line)
	}
}

// TestWrongFiles checks that a wrong file stops the start, with its line.
func TestWrongFiles(t *testing.T) {
	t.Parallel()
	for want, text := range map[string]string{
		`rules-dir: a.yaml:8: spec.rules[0]: Invalid value: "frozen data": `:                     strings.Replace(filed, "immutable data", "frozen data", 1),
		`rules-dir: a.yaml:6: leases.coordination.k8s.io: no policy may guard it`:                strings.Replace(filed, "configmaps", "leases.coordination.k8s.io", 1),
		`rules-dir: a.yaml:1: v1 ConfigMap: must be an ImmutabilityPolicy of guard.holdfast.dev`: `{apiVersion: v1, kind: ConfigMap}`,
		`rules-dir: a.yaml:5: json: unknown field "ressources"`:                                  strings.Replace(filed, "resources", "ressources", 1),
		`rules-dir: a.yaml:8: spec.rules[0]: Invalid value: "immutable data while oldSelf.size": configmaps: column 8: `: strings.Replace(filed,
			"immutable data", "immutable data while oldSelf.size", 1),
		`rules-dir: a.yaml:6: spec.mode: Unsupported value: "Warn": `: strings.Replace(filed, "spec:", "spec:\n  mode: Warn", 1),
		`rules-dir: a.yaml:13: a.yaml has a policy filed too`:         filed + "---" + filed,
	} {
		dir := t.TempDir()
		write(t, dir, "a.yaml", text)
		server, err := servertest.Launch(apiserver.Config{DataDir: t.TempDir(), RulesDir: dir})
		if err == nil {
			_ = server.Stop()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
