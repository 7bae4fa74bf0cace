package protection_test

import (
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// shared is a client of the administrator.
var shared restclient.Interface

func TestMain(m *testing.M) {
	os.Exit(servertest.Main(m, func(config *restclient.Config) error {
		config.QPS = -1
		client, err := kubernetes.NewForConfig(config)
		shared = client.Discovery().RESTClient()
		return err
	}))
}

const (
	core    = "/api/v1/namespaces/default/"
	kudo    = "/apis/kudo.dev/v1beta1/namespaces/default/"
	boats   = "/apis/metrics.example.com/v1/namespaces/default/boats"
	applied = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"annotations":{},"name":"owned","namespace":"default"},"data":{"a":"1"}}`
)

// objects are the objects that the tests write, in the order in which they are created.
var objects = []struct{ path, object string }{
	{"/apis/apiextensions.k8s.io/v1/customresourcedefinitions", `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.metrics.example.com}
spec:
  group: metrics.example.com
  scope: Namespaced
  names: {plural: boats, kind: Boat}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {hull: {type: string, x-kubernetes-immutable: true}, crew: {type: integer}}}
`},
	{boats, `{apiVersion: metrics.example.com/v1, kind: Boat, metadata: {name: ark}, spec: {hull: wood}}`},
	{core + "secrets", `{apiVersion: v1, kind: Secret, metadata: {name: keys}, type: Opaque}`},
	{core + "secrets", `{apiVersion: v1, kind: Secret, metadata: {name: sealed}, immutable: true, stringData: {a: b}}`},
	{core + "configmaps", `{apiVersion: v1, kind: ConfigMap, metadata: {name: sealed}, immutable: true, data: {a: b}}`},
	{core + "configmaps", `
apiVersion: v1
kind: ConfigMap
metadata: {name: owned, annotations: {kubectl.kubernetes.io/last-applied-configuration: '` + applied + `'}}
data: {a: "1"}
`},
	{"/apis/networking.k8s.io/v1/servicecidrs", `
{apiVersion: networking.k8s.io/v1, kind: ServiceCIDR, metadata: {name: more}, spec: {cidrs: [10.98.0.0/24]}}`},
	{"/apis/storage.k8s.io/v1/csinodes", `
apiVersion: storage.k8s.io/v1
kind: CSINode
metadata: {name: host}
spec: {drivers: [{name: csi.example.com, nodeID: a, topologyKeys: null}]}
`},
	{core + "pods", `{apiVersion: v1, kind: Pod, metadata: {name: app}, spec: {containers: [{name: a, image: a}]}}`},
	{core + "pods", `
apiVersion: v1
kind: Pod
metadata: {name: limited}
spec: {containers: [{name: a, image: a, resources: {requests: {cpu: "1"}, limits: {cpu: "2", memory: 1Gi}}}]}
`},
	{kudo + "operatorversions", `
apiVersion: kudo.dev/v1beta1
kind: OperatorVersion
metadata: {name: tok-0.1.0}
spec:
  operator: {name: tok}
  version: 0.1.0
  plans: {deploy: {phases: []}}
  parameters: [{name: TOKENS, default: "256", immutable: true}, {name: CPUS, default: "1"}]
`},
	{kudo + "instances", `{apiVersion: kudo.dev/v1beta1, kind: Instance, metadata: {name: tok}, spec: {operatorVersion: {name: tok-0.1.0}}}`},
}

// create creates all objects.
func create(t *testing.T) {
	t.Helper()
	for _, o := range objects {
		post(t, o.path, o.object)
	}
	waittest.Until(t, "the plan of the Instance has ended", func() bool {
		metrics := read(t)
		return metrics["holdfast_plans_finished_total{complete}"] > 0 && metrics["holdfast_plans_running{PENDING}"] == 0
	})
}

// post creates an object, when its kind is served.
func post(t *testing.T, path, object string) {
	t.Helper()
	body := toJSON(t, object)
	waittest.Until(t, "POST "+path, func() bool {
		err := shared.Post().AbsPath(path).Param("fieldManager", "kubectl-client-side-apply").
			SetHeader("Content-Type", "application/json").Body(body).Do(t.Context()).Error()
		return err == nil || apierrors.IsAlreadyExists(err)
	})
}

func toJSON(t *testing.T, text string) []byte {
	t.Helper()
	converted := yamltest.JSON(t, text)
	return converted
}

// TestMetrics sends writes that each protection refuses, and others. Each of them changes the metrics of its row, and no other of these
// metrics.
func TestMetrics(t *testing.T) {
	create(t)
	awaitMetrics(t, map[string]float64{`holdfast_plans_started_total{}`: 1, `holdfast_plans_finished_total{complete}`: 1})
	refused := func(protection string) map[string]float64 {
		return map[string]float64{"holdfast_refusals_total{" + protection + "}": 1}
	}
	tests := []struct {
		name, command, path, patch string
		dryRun                     bool
		want                       map[string]float64
	}{
		{name: "an immutable field", path: boats + "/ark", patch: `{spec: {hull: steel}}`, want: refused("immutable-field")},
		{name: "another field", path: boats + "/ark", patch: `{spec: {crew: 8}}`},
		{name: "a dry run", path: boats + "/ark", patch: `{spec: {hull: steel}}`, dryRun: true},
		{name: "a field of Kubernetes", path: core + "secrets/keys", patch: `{type: kubernetes.io/tls}`, want: refused("built-in-field")},
		{
			name: "the range of a ServiceCIDR", path: "/apis/networking.k8s.io/v1/servicecidrs/more",
			patch: `{spec: {cidrs: [10.99.0.0/24]}}`, want: refused("built-in-field"),
		},
		{
			name: "a driver of a CSINode", path: "/apis/storage.k8s.io/v1/csinodes/host",
			patch: `{spec: {drivers: [{name: csi.example.com, nodeID: b, topologyKeys: null}]}}`, want: refused("built-in-field"),
		},
		{
			name: "the scope of a definition", path: objects[0].path + "/boats.metrics.example.com", patch: `{spec: {scope: Cluster}}`,
			want: refused("built-in-field"),
		},
		{
			name: "an ephemeral container", path: core + "pods/app/ephemeralcontainers",
			patch: `{spec: {ephemeralContainers: [{name: b, image: b, terminationMessagePolicy: File}]}}`,
		},
		{
			name: "another image of an ephemeral container", path: core + "pods/app/ephemeralcontainers",
			patch: `{spec: {ephemeralContainers: [{name: b, image: c, terminationMessagePolicy: File}]}}`, want: refused("built-in-field"),
		},
		{
			name: "a limit that is removed", path: core + "pods/limited/resize",
			patch: `{spec: {containers: [{name: a, image: a, resources: {requests: {cpu: "1"}}}]}}`, want: refused("built-in-field"),
		},
		{name: "an invalid label", path: core + "secrets/keys", patch: `{metadata: {labels: {a: "?"}}}`},
		{name: "an immutable ConfigMap", path: core + "configmaps/sealed", patch: `{data: {a: c}}`, want: refused("immutable-config")},
		{name: "an immutable Secret", path: core + "secrets/sealed", patch: `{immutable: false}`, want: refused("immutable-config")},
		{
			name: "an immutable Secret and its type", path: core + "secrets/sealed", patch: `{type: x, immutable: false}`,
			want: merge(refused("immutable-config"), refused("built-in-field")),
		},
		{
			name: "an immutable parameter", path: kudo + "instances/tok", patch: `{spec: {parameters: {TOKENS: "9"}}}`,
			want: refused("immutable-parameter"),
		},
		{name: "an unknown parameter", path: kudo + "instances/tok", patch: `{spec: {parameters: {NONE: "9"}}}`},
		{name: "an edit", command: "edit", path: core + "configmaps/owned", patch: `{data: {a: "2"}}`, want: refused("ownership")},
		{
			name: "an imperative write", command: "patch", path: core + "configmaps/owned", patch: `{data: {a: "2"}}`,
			want: map[string]float64{"holdfast_ownership_findings_total{overwrites}": 1},
		},
		{
			name: "an apply", command: "apply", path: core + "configmaps/owned", patch: `{data: {a: "1"}}`,
			want: map[string]float64{"holdfast_ownership_findings_total{reverts}": 1},
		},
	}
	for _, test := range tests {
		before := read(t)
		request := shared.Patch("application/merge-patch+json").AbsPath(test.path).Body(toJSON(t, test.patch))
		if test.dryRun {
			request = request.Param("dryRun", "All")
		}
		if test.command != "" {
			manager := strings.ReplaceAll("kubectl-"+test.command, "kubectl-apply", "kubectl-client-side-apply")
			request = request.SetHeader("Kubectl-Command", "kubectl "+test.command).Param("fieldManager", manager)
		}
		answered := request.Do(t.Context()).Error()
		if refusal := len(test.want) > 0 && test.command != "patch" && test.command != "apply"; refusal && answered == nil {
			t.Errorf("%s: it was not refused", test.name)
		}
		if diff := cmp.Diff(merge(test.want), changed(before, read(t))); diff != "" {
			t.Errorf("%s, answered with %v: changed metrics (-want +got):\n%s", test.name, answered, diff)
		}
	}
}

// TestKeptObjects deletes objects that must be kept. Refused deletions count, dry runs do not.
func TestKeptObjects(t *testing.T) {
	const kept = "metadata: {name: kept, labels: {all: kept}, annotations: {holdfast.dev/keep: always}}"
	post(t, core+"configmaps", "{apiVersion: v1, kind: ConfigMap, "+kept+"}")
	counted := map[string]float64{"holdfast_refusals_total{kept-object}": 1}
	for _, test := range []struct {
		name, path, options string
		want                map[string]float64
	}{
		{name: "delete", path: core + "configmaps/kept", options: `{}`, want: counted},
		{name: "a dry run", path: core + "configmaps/kept", options: `{dryRun: [All]}`, want: map[string]float64{}},
		{name: "a collection", path: core + "configmaps", options: `{}`, want: counted},
	} {
		before := read(t)
		err := shared.Delete().AbsPath(test.path).Param("labelSelector", "all=kept").Body(toJSON(t, test.options)).Do(t.Context()).Error()
		if !apierrors.IsConflict(err) {
			t.Errorf("%s: %v, want 409", test.name, err)
		}
		if diff := cmp.Diff(test.want, changed(before, read(t))); diff != "" {
			t.Errorf("%s: changed metrics (-want +got):\n%s", test.name, diff)
		}
	}
}

// TestDefinitions counts the definitions that are compiled. A definition is compiled for its first request, and its
// validation for its first write. The three kinds of operator packages are in use.
func TestDefinitions(t *testing.T) {
	create(t)
	before := read(t)
	if before["holdfast_definitions_compiled{}"] < 1 || before["holdfast_definitions_served{}"] < 4 {
		t.Errorf("compiled and served definitions: %v, %v", before["holdfast_definitions_compiled{}"], before["holdfast_definitions_served{}"])
	}
	const compiled, seconds = "holdfast_definitions_compiled{}", "holdfast_definition_compile_seconds{}"
	var collection string
	for _, step := range []struct {
		name string
		do   func()
		want map[string]float64
	}{
		{"no request for its objects", func() {
			post(t, objects[0].path, strings.ReplaceAll(objects[0].object, "metrics.example.com", "more.example.com"))
			collection = strings.Replace(objects[1].path, "metrics", "more", 1)
			// The server answers when it serves the definition, but does not wait for that for ever.
			awaitMetrics(t, map[string]float64{"holdfast_definitions_served{}": before["holdfast_definitions_served{}"] + 1})
		}, map[string]float64{"holdfast_definitions_served{}": 1}},
		{"a list of its objects", func() {
			if err := shared.Get().AbsPath(collection).Do(t.Context()).Error(); err != nil {
				t.Fatal(err)
			}
		}, map[string]float64{compiled: 1, seconds: 1}},
		{"a write", func() {
			post(t, collection, strings.ReplaceAll(objects[1].object, "metrics.example.com", "more.example.com"))
		}, map[string]float64{seconds: 1}},
	} {
		before = read(t)
		step.do()
		if diff := cmp.Diff(step.want, changed(before, read(t))); diff != "" {
			t.Errorf("%s: changed metrics (-want +got):\n%s", step.name, diff)
		}
	}
}

// TestAgents opens a watch as the agent of a node does, and ends it.
func TestAgents(t *testing.T) {
	watch, err := shared.Get().AbsPath("/api/v1/secrets").Param("watch", "true").
		Param("fieldSelector", "holdfast.dev/used-by-node=n1").Stream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	awaitMetrics(t, map[string]float64{"holdfast_agents_connected{}": 1})
	_ = watch.Close()
	awaitMetrics(t, map[string]float64{"holdfast_agents_connected{}": 0})
}

// read returns Holdfast's own metrics, by name and value of the label. For a histogram it is the count.
func read(t *testing.T) map[string]float64 {
	t.Helper()
	text, err := shared.Get().AbsPath("/metrics").SetHeader("Accept", "text/plain").Do(t.Context()).Raw()
	if err != nil {
		t.Fatal(err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for name, family := range families {
		// Every request for a custom resource changes the metrics of caches.
		if !strings.HasPrefix(name, "holdfast_") || strings.HasPrefix(name, "holdfast_cache_") || name == "holdfast_references" {
			continue
		}
		for _, metric := range family.GetMetric() {
			label := ""
			for _, pair := range metric.GetLabel() {
				label += pair.GetValue()
			}
			values[name+"{"+label+"}"] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue() +
				float64(metric.GetHistogram().GetSampleCount())
		}
	}
	return values
}

// awaitMetrics waits until metrics have values.
func awaitMetrics(t *testing.T, want map[string]float64) {
	t.Helper()
	waittest.Until(t, "the metrics have their values", func() error {
		got := read(t)
		for name, value := range want {
			if have, found := got[name]; !found || have != value {
				return fmt.Errorf("%s is %v, want %v", name, have, value)
			}
		}
		return nil
	})
}

// changed returns by how much metrics have changed.
func changed(before, after map[string]float64) map[string]float64 {
	differences := map[string]float64{}
	for name, value := range after {
		if value != before[name] {
			differences[name] = value - before[name]
		}
	}
	return differences
}

func merge(all ...map[string]float64) map[string]float64 {
	merged := map[string]float64{}
	for _, one := range all {
		maps.Copy(merged, one)
	}
	return merged
}
