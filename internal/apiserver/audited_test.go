package apiserver_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

const auditedGroup = "audit.example.com"

// auditedDefinition is a kind with two versions, without a conversion webhook.
func auditedDefinition(t testing.TB, plural, more string) *unstructured.Unstructured {
	t.Helper()
	version := `{name: %s, served: true, storage: %t, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {
		a: {type: string}, n: {type: integer, default: 1}, f: {type: number}, list: {type: array, items: {type: string}}%s}}}}}}`
	return yamltest.Object(t, fmt.Sprintf(`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: %[1]s.%[2]s},
		spec: {group: %[2]s, scope: Namespaced, names: {plural: %[1]s, kind: K%[1]s}, versions: [%[3]s, %[4]s]}}`,
		plural, auditedGroup, fmt.Sprintf(version, "v1", true, more), fmt.Sprintf(version, "v2", false, more)))
}

func auditedObject(plural, version, name, value string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": auditedGroup + "/" + version, "kind": "K" + plural, "metadata": map[string]any{"name": name},
		"spec": map[string]any{"a": value, "f": 2.0, "list": []any{"x", "y"}},
	}}
}

// auditedObjects is the client of the objects of an audited definition, in one version.
func auditedObjects(client dynamic.Interface, plural, version string) dynamic.ResourceInterface {
	return client.Resource(schema.GroupVersionResource{Group: auditedGroup, Version: version, Resource: plural}).Namespace("default")
}

// defineAudited creates an audited definition and waits until its objects can be listed.
func defineAudited(t testing.TB, client dynamic.Interface, plural string) {
	t.Helper()
	if _, err := client.Resource(crdResource).Create(t.Context(), auditedDefinition(t, plural, ""), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the objects of "+plural+" can be listed", func() error {
		_, err := auditedObjects(client, plural, "v1").List(t.Context(), metav1.ListOptions{})
		return err
	})
}

// auditFigures returns the metrics of the audits by their names without the common prefix, such as differences_total{cache="watch"}.
func auditFigures(t testing.TB, metrics string) map[string]float64 {
	t.Helper()
	got := map[string]float64{}
	for line := range strings.Lines(metrics) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		name, found := strings.CutPrefix(name, "holdfast_cache_audit_")
		if !ok || !found {
			continue
		}
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		got[name] = n
	}
	return got
}

// auditedServer is a server whose audits the test runs itself.
type auditedServer struct {
	*servertest.Server
	dynamic.Interface
	t testing.TB
}

func startAudited(t testing.TB, settings apiserver.Config) auditedServer {
	t.Helper()
	settings.CacheAuditInterval = 24 * time.Hour
	server := servertest.Start(t, settings)
	return auditedServer{server, dynamic.NewForConfigOrDie(server.Config(t)), t}
}

func (s auditedServer) objects(plural, version string) dynamic.ResourceInterface {
	return auditedObjects(s, plural, version)
}

// figures returns the metrics of the audits, without their common prefix.
func (s auditedServer) figures() map[string]float64 {
	s.t.Helper()
	return auditFigures(s.t, s.get("/metrics"))
}

// get returns the text of an answer.
func (s auditedServer) get(path string) string {
	s.t.Helper()
	text, err := s.Client(s.t).Discovery().RESTClient().Get().RequestURI(path).Do(s.t.Context()).Raw()
	if err != nil {
		s.t.Fatalf("%s: %v", path, err)
	}
	return string(text)
}
