package controller_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/apiserver"
	"holdfast.dev/holdfast/apiserver/servertest"
	"holdfast.dev/holdfast/operator/controller"
)

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

// killer is a transport that lets so many writes through and then kills who made
// the last: the server has done it, and nobody hears of it.
type killer struct {
	mutex   sync.Mutex
	left    int
	kill    context.CancelFunc
	created map[string]int
}

// tripper is a transport that is a function.
type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

func (k *killer) pass(request *http.Request, next http.RoundTripper) (*http.Response, error) {
	if request.Method == http.MethodGet {
		return next.RoundTrip(request)
	}
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if k.left == 0 {
		return nil, errors.New("killed")
	}
	k.left--
	// A request that arrived is served, whatever becomes of its sender.
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

// TestKilled kills a controller after each of its writes in turn; another goes
// on, and in the end every object was created once.
func TestKilled(t *testing.T) {
	t.Parallel()
	c := startUnled(t)
	c.operator(t, "fragile", "0.1.0", fragile)
	for writes, survived := 1, false; !survived; writes++ {
		name := fmt.Sprintf("run%d", writes)
		if _, err := c.typed.CoreV1().ConfigMaps(c.namespace).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name + "-old"}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		c.install(t, name, "fragile-0.1.0", nil)
		k := &killer{left: writes, created: map[string]int{}}
		ended := c.control(t, k)
		servertest.Eventually(t, "killed, or through", func() bool {
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
		c.complete(t, name)
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
			t.Errorf("killed after %d writes: what was to be deleted is there", writes)
		}
		if len(c.instance(t, name).Status.Objects) != 3 {
			t.Errorf("killed after %d writes: %v", writes, c.instance(t, name).Status.Objects)
		}
		if writes > 50 {
			t.Fatal("a run takes more writes than it can")
		}
	}
}

// control runs a controller behind a transport until that kills it.
func (c cluster) control(t *testing.T, k *killer) (ended chan struct{}) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	config := rest.CopyConfig(c.config)
	k.kill = cancel
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return tripper(func(request *http.Request) (*http.Response, error) { return k.pass(request, next) })
	})
	ended = make(chan struct{})
	go func() {
		defer close(ended)
		if err := controller.Run(ctx, controller.Config{Client: config, Unattended: true}); err != nil {
			t.Errorf("run: %v", err)
		}
	}()
	return ended
}

// startUnled is a server whose own controllers do not run: somebody else holds
// their Lease.
func startUnled(t *testing.T) cluster {
	t.Helper()
	dir := t.TempDir()
	server := servertest.Start(t, apiserver.Config{DataDir: dir})
	c := newCluster(server, server.Config(t))
	holder, seconds, now := "somebody", int32(3600), metav1.NewMicroTime(time.Now())
	spec := coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, AcquireTime: &now, RenewTime: &now}
	leases := c.typed.CoordinationV1().Leases(metav1.NamespaceSystem)
	servertest.Eventually(t, "the Lease is somebody's", func() bool {
		lease, err := leases.Get(t.Context(), "holdfast-controllers", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false
		}
		if err == nil {
			lease.Spec = spec
			_, err = leases.Update(t.Context(), lease, metav1.UpdateOptions{})
		}
		return err == nil
	})
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	server = servertest.Start(t, apiserver.Config{DataDir: dir})
	return newCluster(server, server.Config(t))
}
