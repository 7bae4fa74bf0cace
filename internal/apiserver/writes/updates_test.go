package writes_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/yamltest"
)

const (
	leases    = "/apis/coordination.k8s.io/v1/namespaces/NAMESPACE/leases/"
	merge     = "application/merge-patch+json"
	strategic = "application/strategic-merge-patch+json"
)

// update is an update, or a patch with a media type. The body of an update is a merge patch, which the test applies to the stored object.
type update struct{ media, path, query, body string }

// TestAnswersToUpdates sends the same updates and patches in two namespaces. In one of them each body has an unknown field, so that the library serves
// it, and both requests ignore unknown fields. Answers, warnings and objects must be equal.
func TestAnswersToUpdates(t *testing.T) {
	c := newClient(t, servertest.Start(t, apiserver.Config{}).Config(t))
	for _, namespace := range []string{"quick", "library"} {
		for _, w := range []write{
			{configMaps + "a", "?fieldManager=m0", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: b, c: d}}"},
			{deployments + "web-0", "?fieldManager=m0", deployment},
			{pods + "p", "?fieldManager=m0", "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {automountServiceAccountToken: false, containers: [{name: a, image: b}]}}"},
		} {
			c.apply(namespace, w, yamltest.JSON(t, w.configuration))
		}
	}
	labels := []string{`verb="PUT"`, `verb="PATCH"`, `verb="update"`, `verb="patch"`}
	updates, before, found := append(tableOfUpdates(), randomUpdates(200)...), c.counts(labels...), c.found()
	counted := 0
	for i, u := range updates {
		got, want := c.update("quick", u), c.update("library", u)
		if !strings.HasPrefix(u.path, leases) && want.Code != http.StatusUnsupportedMediaType {
			counted += 2
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("write %d, %s %s%s %s (-library +quick):\n%s", i, u.media, u.path, u.query, u.body, diff)
		}
	}
	after := c.counts(labels...)
	for name, count := range before {
		if got, want := after[name]-count, counted; got != want {
			t.Errorf("%s counts %d writes, want %d", name, got, want)
		}
	}
	for _, code := range []int{200, 201, 400, 404, 409, 422} {
		if c.codes[code] == 0 {
			t.Errorf("no write got the status %d: %v", code, c.codes)
		}
	}
	// Each quick write looks for the sets of its managers.
	if now := c.found(); now-found < len(updates)/2 {
		t.Errorf("%d sets of fields came from the cache in %d updates", now-found, len(updates))
	}
}

// TestTooLarge adds so many keys to a ConfigMap that it is too large for etcd with its managed fields. It is stored without them.
func TestTooLarge(t *testing.T) {
	c := newClient(t, servertest.Start(t, apiserver.Config{}).Config(t))
	withKeys := func(count int) string {
		var keys strings.Builder
		for i := range count {
			_, _ = fmt.Fprintf(&keys, "%sk%0200d: ''", map[bool]string{true: ", "}[i > 0], i)
		}
		return "{apiVersion: v1, kind: ConfigMap, metadata: {name: large}, data: {" + keys.String() + "}}"
	}
	var answers []answer
	for _, namespace := range []string{"quick", "library"} {
		created := c.send(namespace, http.MethodPost, "application/json", strings.TrimSuffix(configMaps, "/"), yamltest.JSON(t, withKeys(2_500)))
		if created.Code != http.StatusCreated || !strings.Contains(created.Body, "managedFields") {
			t.Fatalf("the create is answered with %d", created.Code)
		}
		answers = append(answers, c.update(namespace, update{"", configMaps + "large", "", withKeys(4_500)}))
	}
	if answers[0].Code != http.StatusOK || strings.Contains(answers[0].Body, "managedFields") {
		t.Errorf("the update is answered with %d %.2000s", answers[0].Code, answers[0].Body)
	}
	if answers[0].Body != answers[1].Body {
		t.Error("the library answers something else")
	}
}

const deployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web-0}, spec: {replicas: 1, selector: {matchLabels: {app: web}}, ` +
	`template: {metadata: {labels: {app: web}}, spec: {containers: [{name: a, image: i, env: [{name: A, value: a}], ports: [{containerPort: 80}]}]}}}}`

// found returns how many sets of fields have come from the cache.
func (c *client) found() int {
	c.t.Helper()
	text, _ := c.sender.Send(c.t, servertest.Request{Method: http.MethodGet, Path: "/metrics"})
	for line := range strings.Lines(string(text)) {
		var n int
		if _, err := fmt.Sscanf(line, `holdfast_cache_hits_total{cache="managers"} %d`, &n); err == nil {
			return n
		}
	}
	c.t.Fatal("the cache has no metric")
	return 0
}

// update sends an update in a namespace.
func (c *client) update(namespace string, u update) answer {
	c.t.Helper()
	body, method, media := yamltest.JSON(c.t, u.body), http.MethodPatch, u.media
	if u.media == "" {
		method, media = http.MethodPut, "application/json"
		stored := c.stored(strings.ReplaceAll(u.path, "NAMESPACE", namespace))
		merged, err := jsonpatch.MergePatch(stored, body)
		if err != nil {
			c.t.Fatal(err)
		}
		body = merged
	}
	if namespace == "library" {
		var fields map[string]any
		if json.Unmarshal(body, &fields) == nil && fields != nil {
			fields["unknown"] = 1
			var err error
			if body, err = json.Marshal(fields); err != nil {
				c.t.Fatal(err)
			}
		}
	}
	return c.send(namespace, method, media, u.path+"?fieldValidation=Ignore"+u.query, body)
}

// stored returns an object, and {} if there is none.
func (c *client) stored(path string) []byte {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, c.sender.URL+path, http.NoBody)
	if err != nil {
		c.t.Fatal(err)
	}
	res, err := c.sender.HTTP.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	if res.StatusCode == http.StatusNotFound {
		return []byte("{}")
	}
	return text
}

func tableOfUpdates() []update {
	const status = pods + "p/status"
	var updates []update
	for _, media := range []string{"", merge, strategic} {
		updates = append(updates, []update{
			{media, configMaps + "a", "&fieldManager=m1", "data: {a: x}"},
			{media, configMaps + "a", "&fieldManager=m1", "data: {a: z1}"},
			{media, configMaps + "a", "&fieldManager=m1", "data: {a: z1}"},
			{media, configMaps + "a", "&fieldManager=m1&dryRun=All", "data: {a: z}"},
			{media, configMaps + "a", "&fieldManager=m1&pretty=true", "data: {a: pretty, new: z}"},
			{media, configMaps + "a", "", "data: {a: null}"},
			{media, configMaps + "a", "&fieldManager=m2", "{metadata: {labels: {a: b}, annotations: {a: b}}}"},
			{media, configMaps + "a", "&fieldManager=m2", "{metadata: {labels: {a: c}, uid: null}}"},
			{media, configMaps + "a", "&fieldManager=m2", "{metadata: {labels: {a: d}, uid: wrong}}"},
			{media, configMaps + "a", "&fieldManager=m2", "{metadata: {labels: {a: d}, resourceVersion: '1'}}"},
			{media, configMaps + "a", "&fieldManager=m2", "{metadata: {labels: {a: e}, resourceVersion: null, managedFields: null}}"},
			{media, configMaps + "a", "&fieldManager=m2", "{metadata: {name: b}}"},
			{media, configMaps + "a", "&fieldManager=m2", "{metadata: {namespace: b}}"},
			{media, configMaps + "a", "&fieldManager=m2", "{metadata: {labels: {'a b': c}}}"},
			{media, configMaps + "a", "&fieldManager=m2&dryRun=All", "{metadata: {ownerReferences: [{apiVersion: v1, kind: Pod, name: p, uid: u}, {apiVersion: v1, kind: Pod, name: p, uid: u}]}}"},
			{media, configMaps + "a", "&dryRun=Some", "data: {a: b}"},
			{media, configMaps + "none", "&fieldManager=m2", "{apiVersion: v1, kind: ConfigMap, metadata: {name: none}}"},
			{media, configMaps + "a", "&fieldManager=m2", "{metadata: {managedFields: []}}"},
			{media, configMaps + "a", "&fieldManager=m2", "data: {a: untracked}"},
			{media, status, "&fieldManager=kubelet", "status: {phase: Running, conditions: [{type: Ready, status: 'False', lastTransitionTime: '2026-01-01T00:00:00Z'}], podIPs: [{ip: 10.0.0.1}]}"},
			{media, status, "&fieldManager=kubelet", "status: {conditions: [{type: Ready, status: 'True', lastTransitionTime: '2026-01-02T00:00:00Z'}]}"},
			{media, status, "&fieldManager=kubelet", "{metadata: {labels: {not: written}}, spec: {nodeName: x}}"},
			{media, pods + "p", "&fieldManager=m3", "{spec: {activeDeadlineSeconds: 100}, status: {phase: Failed}}"},
			{media, pods + "p", "&fieldManager=m3", "{spec: {activeDeadlineSeconds: 90}}"},
			{media, pods + "p", "&fieldManager=m3", "{spec: {hostNetwork: true}}"},
			{media, leases + "l", "&fieldManager=m3", "{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: l}, spec: {leaseDurationSeconds: 5}}"},
			{media, leases + "l", "&fieldManager=m3", "{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: l}, spec: {leaseDurationSeconds: 6}}"},
		}...)
	}
	// The messages about wrong patches have the whole patch, and the library gets another one.
	return append(updates,
		update{"", configMaps + "a", "", "{kind: Secret}"},
		update{"", configMaps + "a", "", "{apiVersion: v2}"},
		update{"", pods + "p/status", "", "status: {phase: 5}"},
		update{strategic, configMaps + "a", "", "{data: {$patch: replace, only: this}}"},
		update{strategic, configMaps + "a", "", "{$patch: replace, data: {all: new}}"},
		update{strategic, configMaps + "a", "", "{metadata: {$patch: merge}}"},
		update{strategic, pods + "p", "", "{spec: {containers: [{name: a, image: patched}]}}"},
		update{strategic, pods + "p", "", "{spec: {containers: [{$patch: delete, name: a}]}}"},
		update{strategic, pods + "p", "", "{spec: {$setElementOrder/containers: [{name: a}], containers: [{name: a, image: c}]}}"},
		update{merge, configMaps + "a", "", "[]"},
		update{merge, configMaps + "a", "", "null"},
		update{"application/json-patch+json", configMaps + "a", "", "[{op: add, path: /data/j, value: b}]"},
		update{strings.ToUpper(merge), configMaps + "a", "", "data: {a: x}"},
	)
}

// randomUpdates change a Deployment and its status.
func randomUpdates(count int) []update {
	random := rand.New(rand.NewPCG(2, 2))
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	var updates []update
	for range count {
		n := random.IntN(3)
		path, body := deployments+"web-0", pick(
			fmt.Sprintf("spec: {replicas: %d}", n), fmt.Sprintf("spec: {replicas: %d, paused: %t}", n, n == 1), "spec: {paused: null}",
			fmt.Sprintf("metadata: {labels: {a: 'v%d'}}", n), fmt.Sprintf("metadata: {annotations: {a%d: b}}", n), "metadata: {annotations: null}",
			fmt.Sprintf("spec: {template: {spec: {containers: [{name: a, image: 'i%d', env: [{name: A, value: '%d'}], ports: [{containerPort: 80}]}]}}}", n, n),
			fmt.Sprintf("spec: {template: {spec: {containers: [{name: a, image: 'i%d'}], terminationGracePeriodSeconds: %d}}}", n, n),
		)
		if random.IntN(3) == 0 {
			path, body = path+"/status", pick(
				fmt.Sprintf("status: {replicas: %d}", n), fmt.Sprintf("status: {observedGeneration: %d, replicas: %d}", n, n),
				fmt.Sprintf("status: {conditions: [{type: Available, status: '%s', reason: 'r%d'}]}", pick("True", "False"), n),
			)
		}
		updates = append(updates, update{pick("", "", merge, strategic), path, pick("&fieldManager=m0", "&fieldManager=m0", "&fieldManager=m1", ""), body})
	}
	return updates
}
