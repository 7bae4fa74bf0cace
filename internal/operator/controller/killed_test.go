package controller_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/operator/authorship"
	"holdfast.dev/holdfast/internal/operator/controller"
	"holdfast.dev/holdfast/internal/operator/deletion"
	"holdfast.dev/holdfast/internal/waittest"
)

// fragile is an operator with a plan that applies and deletes several objects.
const fragile = `
templates:
  settings.yaml: "{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Name }}-settings'}}"
  old.yaml: "{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Name }}-old'}}"
  role.yaml: "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: '{{ .Name }}-role'}}"
  job.yaml: |
    apiVersion: batch/v1
    kind: Job
    metadata: {name: '{{ .Name }}-job'}
    spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}
tasks:
- {name: settings, kind: Apply, spec: {resources: [settings.yaml, role.yaml]}}
- {name: old, kind: Delete, spec: {resources: [old.yaml]}}
- {name: forget, kind: Delete, spec: {resources: [job.yaml]}}
- {name: job, kind: Apply, spec: {resources: [job.yaml]}}
- {name: end, kind: Dummy, spec: {done: true}}
plans:
  deploy:
    phases:
    - {name: first, steps: [{name: settings, tasks: [settings]}]}
    - {name: second, strategy: parallel, steps: [{name: old, tasks: [old]}, {name: job, tasks: [forget, job, end]}]}
`

// killer is a transport that kills the controller after a number of writes. The server
// executes the last write, but the controller does not get the response.
type killer struct {
	mutex sync.Mutex
	// left is the number of writes before the kill; a negative number means no kill.
	left int
	kill context.CancelFunc
	// created counts how often an object was created, by path.
	created map[string]int
}

// tripper is a function as an http.RoundTripper.
type tripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f tripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// pass sends a request, or fails it if the controller was killed.
func (k *killer) pass(request *http.Request, next http.RoundTripper) (*http.Response, error) {
	// Events are written apart from the run.
	if request.Method == http.MethodGet || strings.HasSuffix(request.URL.Path, "/events") {
		return next.RoundTrip(request)
	}
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if k.left == 0 {
		return nil, errors.New("killed")
	}
	k.left--
	// The server completes the request even if the controller is killed meanwhile.
	response, err := next.RoundTrip(request.WithContext(context.WithoutCancel(request.Context())))
	if err == nil && response.StatusCode == http.StatusCreated && request.URL.Query().Get("dryRun") == "" {
		k.created[request.URL.Path]++
	}
	if k.left == 0 {
		k.kill()
		if err == nil {
			err = response.Body.Close()
		}
		return nil, errors.Join(errors.New("killed"), err)
	}
	return response, err
}

// TestWithoutControllers runs the tests that run controllers themselves.
func TestWithoutControllers(t *testing.T) {
	t.Parallel()
	c := startWithoutControllers(t)
	t.Run("killed", func(t *testing.T) { testKilled(t, c) })
	t.Run("account", func(t *testing.T) { testAccountRecreated(t, c) })
}

// testKilled kills a controller after its first write, then another after its second, and
// so on. A new controller resumes each run, and in the end every object was created exactly
// once.
func testKilled(t *testing.T, c cluster) {
	c.operator(t, "fragile", "0.1.0", fragile)
	for writes, survived := 1, false; !survived; writes++ {
		name := fmt.Sprintf("run%d", writes)
		c.install(t, name, "fragile-0.1.0", nil)
		c.keep(t, name+"-old", name)
		k := &killer{left: writes, created: map[string]int{}}
		ended := c.control(t, k)
		waittest.Until(t, "the controller killed, or the plan ended", func() bool {
			select {
			case <-ended:
				return true
			default:
				survived = c.instance(t, name).Spec.PlanExecution.PlanName == ""
				return survived
			}
		})
		k.kill()
		<-ended
		k.left = -1
		ended = c.control(t, k)
		c.awaitComplete(t, name)
		k.kill()
		<-ended
		if len(k.created) != 3 {
			t.Errorf("killed after %d writes: created %v", writes, k.created)
		}
		for path, times := range k.created {
			if times != 1 {
				t.Errorf("killed after %d writes: %s was created %d times", writes, path, times)
			}
		}
		if c.get(t, "configmaps", name+"-old") != nil {
			t.Errorf("killed after %d writes: the object to be deleted still exists", writes)
		}
		if len(c.instance(t, name).Status.Objects) != 3 {
			t.Errorf("killed after %d writes: %v", writes, c.instance(t, name).Status.Objects)
		}
		if writes > 50 {
			t.Fatal("the run does not end")
		}
	}
}

// control runs a controller with the transport until the transport kills it. The channel
// is closed when the controller has ended.
func (c cluster) control(t *testing.T, k *killer) (ended chan struct{}) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	config := rest.CopyConfig(c.Config)
	k.kill = cancel
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return tripper(func(request *http.Request) (*http.Response, error) { return k.pass(request, next) })
	})
	ended = make(chan struct{})
	go func() {
		defer close(ended)
		if err := controller.Run(ctx, c.controllerConfig(config)); err != nil {
			t.Errorf("run: %v", err)
		}
	}()
	return ended
}

// controllerConfig returns the configuration of a controller that opens the records of the
// server.
func (c cluster) controllerConfig(client *rest.Config) controller.Config {
	keys := authorship.NewKeyring(authorship.SecretKeys(c.Interface, metav1.NamespaceSystem, authorship.ServerSecret))
	return controller.Config{
		Client: client, Unattended: true,
		Keys: keys, Deletions: deletion.NewStore(c.Interface, metav1.NamespaceSystem, keys),
	}
}

// startWithoutControllers starts a server on which the server's own controllers do not run,
// because another identity holds their Lease.
func startWithoutControllers(t *testing.T) cluster {
	t.Helper()
	server := servertest.StartLedBy(t, "another-server", apiserver.Config{})
	return cluster{Cluster: server.Cluster(t), admin: server.Config(t)}
}
