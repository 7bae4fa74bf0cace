package writes_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/apiserver/writes"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

const (
	configMaps  = "/api/v1/namespaces/NAMESPACE/configmaps/"
	deployments = "/apis/apps/v1/namespaces/NAMESPACE/deployments/"
	pods        = "/api/v1/namespaces/NAMESPACE/pods/"
)

// write is one apply. Its path and its configuration name the namespace NAMESPACE.
type write struct{ path, query, configuration string }

// TestAnswers applies the same configurations in two namespaces: as JSON, and as JSON behind a line break, which the library serves. Answers,
// warnings and objects must be equal.
func TestAnswers(t *testing.T) {
	c := newClient(t, servertest.Start(t, apiserver.Config{}).Config(t))
	regular, before := 0, c.counts(`verb="APPLY"`, `verb="patch"`)
	sent := append(tableOfWrites(), randomWrites(120)...)
	for i, w := range sent {
		text := yamltest.JSON(t, w.configuration)
		if _, ok := writes.Decode(bytes.ReplaceAll(text, []byte("NAMESPACE"), []byte("quick"))); ok {
			regular++
		}
		irregular := append([]byte("\n"), text...)
		if _, ok := writes.Decode(irregular); ok {
			t.Fatal("a configuration that begins with a line break is regular")
		}
		got, want := c.apply("quick", w, text), c.apply("library", w, irregular)
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("write %d, %s%s %s (-library +quick):\n%s", i, w.path, w.query, w.configuration, diff)
		}
	}
	if regular < len(sent)*9/10 {
		t.Errorf("%d of %d configurations are regular", regular, len(sent))
	}
	after := c.counts(`verb="APPLY"`, `verb="patch"`)
	for name, count := range before {
		if got, want := after[name]-count, 2*len(sent); got != want {
			t.Errorf("%s counts %d applies, want %d", name, got, want)
		}
	}
	for _, code := range []int{200, 201, 400, 409, 422} {
		if c.codes[code] == 0 {
			t.Errorf("no write got the status %d: %v", code, c.codes)
		}
	}
}

// TestRight refuses to create an object for a user that may only patch.
func TestRight(t *testing.T) {
	server := servertest.Start(t, apiserver.Config{})
	newClient(t, server.Config(t))
	servertest.Grant(t, server.Client(t), rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: "quick", Name: "ann"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"patch"}}},
	})
	config := server.Config(t)
	config.Impersonate = rest.ImpersonationConfig{UserName: "ann"}
	ann := &client{t: t, codes: map[int]int{}, sender: servertest.NewSender(t, config)}
	waittest.Until(t, "the server refuses the create", func() bool {
		answer := ann.apply("quick", write{path: configMaps + "a", query: "?fieldManager=m"}, []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`))
		if answer.Code != http.StatusForbidden {
			t.Fatalf("the answer is %v", answer)
		}
		return strings.Contains(answer.Body, `cannot create resource`)
	})
}

type client struct {
	t      *testing.T
	sender servertest.Sender
	codes  map[int]int
}

func newClient(t *testing.T, config *rest.Config) *client {
	t.Helper()
	c := &client{t: t, sender: servertest.NewSender(t, config), codes: map[int]int{}}
	for _, name := range []string{"quick", "library"} {
		servertest.CreateNamespace(t, kubernetes.NewForConfigOrDie(config), name)
	}
	return c
}

// counted are the kinds that the tests write. The server itself writes others, for some seconds after its start.
var counted = []string{"configmaps", "deployments", "pods", "namespaces"}

// counts returns how many writes with one of the labels the server has counted, and how many bodies of them.
func (c *client) counts(labeled ...string) map[string]int {
	c.t.Helper()
	text, _ := c.sender.Send(c.t, servertest.Request{Method: http.MethodGet, Path: "/metrics"})
	counts := map[string]int{"apiserver_request_total": 0, "apiserver_request_duration_seconds_count": 0, "apiserver_request_body_size_bytes_count": 0}
	for line := range strings.Lines(string(text)) {
		name, labels, _ := strings.Cut(line, "{")
		isLabeled := slices.ContainsFunc(labeled, func(label string) bool { return strings.Contains(labels, label) })
		isOwn := slices.ContainsFunc(counted, func(resource string) bool { return strings.Contains(labels, fmt.Sprintf("resource=%q", resource)) })
		if _, ok := counts[name]; !ok || !isLabeled || !isOwn {
			continue
		}
		fields := strings.Fields(line)
		n, err := strconv.Atoi(fields[len(fields)-1])
		if err != nil {
			c.t.Fatal(err)
		}
		counts[name] += n
	}
	return counts
}

// answer is what two answers have in common.
type answer struct {
	Code     int
	Warnings []string
	Body     string
}

// individual matches what differs between two objects with the same content.
var individual = regexp.MustCompile(`("(?:uid|resourceVersion|creationTimestamp|time)": ?|uid: |UID in object meta: |[Ll]ast set by )"?[^",})]*"?`)

func (c *client) apply(namespace string, w write, body []byte) answer {
	c.t.Helper()
	return c.send(namespace, http.MethodPatch, "application/apply-patch+yaml", w.path+w.query, body)
}

func (c *client) send(namespace, method, media, path string, body []byte) answer {
	c.t.Helper()
	inside := strings.NewReplacer("NAMESPACE", namespace)
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.sender.URL+inside.Replace(path), strings.NewReader(inside.Replace(string(body))))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Content-Type", media)
	res, err := c.sender.HTTP.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	c.codes[res.StatusCode]++
	general := func(text string) string {
		return individual.ReplaceAllString(strings.ReplaceAll(text, namespace, "NAMESPACE"), "$1")
	}
	warnings := res.Header.Values("Warning")
	for i := range warnings {
		warnings[i] = general(warnings[i])
	}
	return answer{res.StatusCode, warnings, general(sorted(text))}
}

// sorted returns the text of an answer with its managers and causes in an order of their own. The server sorts managers by the seconds of their last write, and
// causes have no order.
func sorted(text []byte) string {
	var obj map[string]any
	if json.Unmarshal(text, &obj) != nil {
		return string(text)
	}
	metadata, _ := obj["metadata"].(map[string]any)
	managers, _ := metadata["managedFields"].([]any)
	details, _ := obj["details"].(map[string]any)
	causes, _ := details["causes"].([]any)
	for _, list := range [][]any{managers, causes} {
		slices.SortFunc(list, func(a, b any) int { return cmp.Compare(orderOf(a), orderOf(b)) })
	}
	out, err := json.MarshalIndent(obj, "", " ")
	if err != nil {
		return err.Error()
	}
	return string(out)
}

// orderOf returns what managers and causes are sorted by.
func orderOf(v any) string {
	entry, _ := v.(map[string]any)
	return fmt.Sprint(entry["manager"], entry["operation"], entry["subresource"], entry["field"], entry["message"])
}

func tableOfWrites() []write {
	configMap := func(name, rest string) string {
		return "{apiVersion: v1, kind: ConfigMap, metadata: {name: " + name + "}, " + rest + "}"
	}
	return []write{
		{configMaps + "a", "?fieldManager=m", configMap("a", "data: {a: b, c: d}")},
		{configMaps + "a", "?fieldManager=m", configMap("a", "data: {a: b, c: d}")},
		{configMaps + "a", "?fieldManager=m", configMap("a", "data: {a: changed}")},
		{configMaps + "a", "?fieldManager=other", configMap("a", "data: {a: mine}")},
		{configMaps + "a", "?fieldManager=other&dryRun=All&force=true", configMap("a", "data: {a: mine}")},
		{configMaps + "a", "?fieldManager=other&force=true", configMap("a", "data: {a: mine}")},
		{configMaps + "a", "?fieldManager=m&pretty=true", configMap("a", "data: {b: c}")},
		{configMaps + "a", "", configMap("a", "data: {b: c}")},
		{configMaps + "a", "?fieldManager=m&dryRun=Some", configMap("a", "data: {b: c}")},
		{configMaps + "a", "?fieldManager=m&fieldValidation=Strict", configMap("a", "data: {b: c}")},
		{configMaps + "a", "?fieldManager=m&fieldValidation=Strict", configMap("a", "unknown: {b: c}")},
		{configMaps + "a", "?fieldManager=m&fieldValidation=Warn", configMap("a", "data: {b: 1}")},
		{configMaps + "a", "?fieldManager=m&fieldValidation=Ignore", configMap("a", "data: [b]")},
		{configMaps + "a", "?fieldManager=m", configMap("b", "data: {b: c}")},
		{configMaps + "a", "?fieldManager=m", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}}"},
		{configMaps + "a", "?fieldManager=m", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: NAMESPACE}, data: {z: z}}"},
		{configMaps + "a", "?fieldManager=m", "{apiVersion: v1, kind: Secret, metadata: {name: a}}"},
		{configMaps + "a", "?fieldManager=m", "{apiVersion: v2, kind: ConfigMap, metadata: {name: a}}"},
		{configMaps + "a", "?fieldManager=m", "{metadata: {name: a}}"},
		{configMaps + "a", "?fieldManager=m", "{}"},
		{configMaps + "a", "?fieldManager=m", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, managedFields: [{manager: x}]}}"},
		{configMaps + "a", "?fieldManager=m", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, uid: x}}"},
		{configMaps + "new", "?fieldManager=m", "{apiVersion: v1, kind: ConfigMap, metadata: {name: new, uid: x}}"},
		{configMaps + "a", "?fieldManager=m", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, resourceVersion: '1'}}"},
		{configMaps + "a", "?fieldManager=m", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {'a b': c}}}"},
		{configMaps + "a", "?fieldManager=m", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, ownerReferences: [{apiVersion: v1, kind: Pod, name: p, uid: u}, {apiVersion: v1, kind: Pod, name: p, uid: u}]}}"},
		{configMaps + "a", "?fieldManager=kubectl", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {kubectl.kubernetes.io/last-applied-configuration: '{}'}}, data: {k: v}}"},
		{configMaps + "B", "?fieldManager=m", configMap("B", "data: {b: c}")},
		{configMaps + "i", "?fieldManager=m", configMap("i", "data: {b: c}, immutable: true")},
		{configMaps + "i", "?fieldManager=m", configMap("i", "data: {b: d}, immutable: true")},
		{pods + "p", "?fieldManager=m", "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {automountServiceAccountToken: false, containers: [{name: a, image: b, ports: [{containerPort: 80}], livenessProbe: {httpGet: {port: 80}}}]}, status: {phase: Running}}"},
		{pods + "p", "?fieldManager=m", "{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {a: b}}, spec: {containers: [{name: a, image: c, ports: [{containerPort: 80}]}]}}"},
		{pods + "p", "?fieldManager=other", "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {activeDeadlineSeconds: 100, containers: [{name: a, image: d}]}}"},
		{"/api/v1/namespaces/NAMESPACE", "?fieldManager=m", "{apiVersion: v1, kind: Namespace, metadata: {name: NAMESPACE, labels: {a: b}}}"},
	}
}

// randomWrites apply a Deployment with random parts, by random managers.
func randomWrites(count int) []write {
	random := rand.New(rand.NewPCG(1, 1))
	some := func(parts ...string) string {
		var out []string
		for _, part := range parts {
			if random.IntN(2) == 0 {
				out = append(out, part)
			}
		}
		return strings.Join(out, ", ")
	}
	var writes []write
	for range count {
		n := random.IntN(3)
		container := func(name string) string {
			inner := some(
				fmt.Sprintf("ports: [{containerPort: %d, protocol: TCP}]", 80+n), fmt.Sprintf("args: [a, '%d']", n), fmt.Sprintf("env: [{name: A, value: '%d'}, {name: B, value: b}]", n),
				fmt.Sprintf("resources: {limits: {cpu: %d, memory: 1Gi}}", n+1), fmt.Sprintf("readinessProbe: {httpGet: {port: http, path: /%d}, periodSeconds: %d}", n, n+1),
			)
			return strings.TrimSuffix(fmt.Sprintf("{name: %s, image: i%d, %s", name, n, inner), ", ") + "}"
		}
		containers := container("a")
		if random.IntN(2) == 0 {
			containers += ", " + container("b")
		}
		name := fmt.Sprint("web-", random.IntN(3))
		spec := some(fmt.Sprint("replicas: ", n), fmt.Sprintf("strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: %d, maxUnavailable: 25%%}}", n+1), "paused: true")
		if spec != "" {
			spec += ", "
		}
		writes = append(writes, write{deployments + name, fmt.Sprintf("?fieldManager=m%d&force=%t", random.IntN(3), random.IntN(3) > 0), fmt.Sprintf(
			"{apiVersion: apps/v1, kind: Deployment, metadata: {name: %s, labels: {%s}}, spec: {%sselector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [%s]}}}}",
			name, some("a: b", fmt.Sprintf("n: 'v%d'", n)), spec, containers)})
	}
	return writes
}
