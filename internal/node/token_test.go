package node_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"holdfast.dev/holdfast/internal/node"
	"holdfast.dev/holdfast/internal/waittest"
)

// claims decodes a token without validating it, and returns its audiences and the UID of its pod.
func claims(t testing.TB, token string) (audience []string, pod string) {
	t.Helper()
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		t.Fatalf("%d parts", len(parts))
	}
	data, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	var body struct {
		Audience   []string `json:"aud"`
		Kubernetes struct {
			Pod struct {
				UID string `json:"uid"`
			} `json:"pod"`
		} `json:"kubernetes.io"`
	}
	if err := json.Unmarshal(data, &body); err != nil {
		t.Fatal(err)
	}
	return body.Audience, body.Kubernetes.Pod.UID
}

// TestToken checks that a token is bound to its pod and audience, stays the same after a restart
// of the agent, and is replaced after 80% of its lifetime.
func TestToken(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	begin := time.Now()
	clock := clocktesting.NewFakeClock(begin)
	config := node.Config{Name: "n1", Clock: clock}
	credential := c.credential(t, "n1")
	a := c.startAgentAs(t, credential, config)
	c.apply(t, pod("web", "n1", `[{name: v, projected: {sources: [`+
		`{serviceAccountToken: {path: token, audience: vault, expirationSeconds: 3600}}, `+
		`{downwardAPI: {items: [{path: labels, fieldRef: {fieldPath: metadata.labels}}]}}]}}]`))
	// label changes a label of the pod and waits until the volume has it.
	label := func(value string) {
		t.Helper()
		c.patchPod(t, "web", fmt.Sprintf(`{"metadata":{"labels":{"app":%q}}}`, value))
		a.waitForFile(c, t, "web", "v/labels", fmt.Sprintf("app=%q", value))
	}
	label("one")
	file := a.path(c, t, "web", "v/token")
	read := func() string {
		t.Helper()
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	first := read()
	audience, uid := claims(t, first)
	if len(audience) != 1 || audience[0] != "vault" || uid != c.uid(t, "web") {
		t.Errorf("audience %v, pod %s", audience, uid)
	}
	c.waitForCondition(t, "web", "True", "")

	// After half of its lifetime, the token is still used after a restart.
	a.stop(t)
	clock.Step(30 * time.Minute)
	config.Root = a.root
	a = c.startAgentAs(t, credential, config)
	// When the second change has been written, the first sync is complete, and the agent has
	// set the timer for the next token.
	label("two")
	label("three")
	if read() != first || a.requests.count("POST", "/token") != 0 {
		t.Error("the token was replaced before its time")
	}
	if age := a.gauge(t, "holdfast_node_oldest_token_age_seconds"); age < 29*60 || age > 31*60 {
		t.Errorf("the age of the oldest token is %v s", age)
	}
	// After 80% of the lifetime, 48 minutes, the token is replaced. The clock stops there,
	// before the old token expires.
	waittest.Until(t, "the token is replaced", func() bool {
		if clock.Since(begin) < 48*time.Minute {
			clock.Step(time.Minute)
		}
		return read() != first
	})
	if early := clock.Since(begin); early < 47*time.Minute {
		t.Errorf("replaced after %s", early)
	}
	if got := a.requests.count("POST", "/token"); got == 0 {
		t.Error("no token was requested")
	}
	label("four")
}

// TestFirstTokenRejected checks that the agent requests a token again if the server rejected the
// request for the first one, although no watch reports a change.
func TestFirstTokenRejected(t *testing.T) {
	t.Parallel()
	for name, config := range modes {
		t.Run(name, func(t *testing.T) {
			c := startCluster(t)
			credential := c.credential(t, "n1")
			// Reject several requests: the change of the condition also causes a sync.
			var rejected atomic.Int64
			credential.Wrap(func(next http.RoundTripper) http.RoundTripper {
				return roundTripper(func(request *http.Request) (*http.Response, error) {
					if strings.HasSuffix(request.URL.Path, "/token") && rejected.Add(1) <= 4 {
						return stockServers["with node authorizer"].reject(request)
					}
					return next.RoundTrip(request)
				})
			})
			a := c.startAgentAs(t, credential, config)
			c.apply(t, pod("web", "n1", `[{name: v, projected: {sources: [{serviceAccountToken: {path: token}}]}}]`))
			c.waitForCondition(t, "web", "True", "")
			if _, err := os.Stat(a.path(c, t, "web", "v/token")); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestServiceAccountVolume checks the files of the volume that the server adds to every pod.
func TestServiceAccountVolume(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	a := c.startAgent(t, node.Config{Name: "n1"})
	c.apply(t, `{kind: Pod, metadata: {name: web}, spec: {nodeName: n1}}`)
	c.waitForCondition(t, "web", "True", "")
	status, err := node.ReadStatus(a.root)
	if err != nil || len(status) != 1 {
		t.Fatalf("%v, %v", status, err)
	}
	for _, name := range []string{"token", "ca.crt", "namespace"} {
		data, err := os.ReadFile(status[0].Path + "/" + name)
		if err != nil || len(data) == 0 {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
}

// TestSecretsNeedMemory checks that the agent writes Secrets to a disk only with SecretsOnDisk.
func TestSecretsNeedMemory(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	c.apply(t, immutableObjects)
	onDisk := func(string) (bool, error) { return false, nil }
	a := c.startAgent(t, node.Config{Name: "n1", InMemory: onDisk})
	c.apply(t, pod("web", "n1", bothVolumes))
	a.waitForFile(c, t, "web", "conf/app.conf", "one")
	c.waitForCondition(t, "web", "False", "volume key: secret content is only kept in memory, "+
		"and the root of this agent is on a disk: use a root on tmpfs, or --secrets-on-disk")
	if got := a.requests.count("GET", "/namespaces/"+c.namespace+"/secrets/key"); got != 0 {
		t.Errorf("the secret was read %d times", got)
	}
	b := c.startAgent(t, node.Config{Name: "n2", InMemory: onDisk, SecretsOnDisk: true})
	c.apply(t, pod("allowed", "n2", bothVolumes))
	b.waitForFile(c, t, "allowed", "key/password", "hunter2")
	inMemory := func(string) (bool, error) { return true, nil }
	b = c.startAgent(t, node.Config{Name: "n3", InMemory: inMemory})
	c.apply(t, pod("memory", "n3", bothVolumes))
	b.waitForFile(c, t, "memory", "key/password", "hunter2")
}

// TestInMemory checks that the agent recognizes a file system in memory.
func TestInMemory(t *testing.T) {
	const memory = "/dev/shm"
	mounts, err := os.ReadFile("/proc/mounts")
	if err != nil || !strings.Contains(string(mounts), " "+memory+" tmpfs ") {
		t.Skipf("needs a tmpfs at %s: /proc/mounts lists none (%v)", memory, err)
	}
	if inMemory, err := node.InMemory(memory); err != nil || !inMemory {
		t.Errorf("%s: %v, %v", memory, inMemory, err)
	}
	if inMemory, err := node.InMemory("/proc"); err != nil || inMemory {
		t.Errorf("/proc: %v, %v", inMemory, err)
	}
}
