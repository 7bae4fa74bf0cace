package kudo_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/remotecommand"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
	"k8s.io/streaming/pkg/httpstream/wsstream"
)

// kubelet simulates the kubelets of a cluster. It runs commands in a folder, with the protocols
// of pods/exec. It runs no containers, but reports that pods are ready.
type kubelet struct {
	// root is the root folder of all containers.
	root string
	// webSockets says whether the cluster supports WebSockets, or SPDY only.
	webSockets atomic.Bool
	mu         sync.Mutex
	// users are the users that ran commands, with the protocol.
	users []string
}

// serveExec answers requests for pods/exec, and passes on all others. Discovery then has
// pods/exec.
func (k *kubelet) serveExec(next http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, request *http.Request) {
		switch {
		case strings.HasSuffix(request.URL.Path, "/exec"):
			k.exec(out, request)
		case request.URL.Path == "/api/v1":
			addExec(out, request, next)
		default:
			next.ServeHTTP(out, request)
		}
	})
}

// addExec adds pods/exec to the discovery document of the core group.
func addExec(out http.ResponseWriter, request *http.Request, next http.Handler) {
	request.Header.Set("Accept", "application/json")
	request.Header.Del("Accept-Encoding")
	recorder := httptest.NewRecorder()
	next.ServeHTTP(recorder, request)
	var list metav1.APIResourceList
	if err := json.Unmarshal(recorder.Body.Bytes(), &list); err != nil {
		http.Error(out, err.Error(), http.StatusBadGateway)
		return
	}
	isExec := func(resource metav1.APIResource) bool { return resource.Name == "pods/exec" }
	if !slices.ContainsFunc(list.APIResources, isExec) {
		list.APIResources = append(list.APIResources, metav1.APIResource{
			Name: "pods/exec", Namespaced: true, Kind: "PodExecOptions", Verbs: metav1.Verbs{"create", "get"},
		})
	}
	out.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(out).Encode(list) // the client is gone
}

// streams are the streams of one command.
type streams struct {
	stdout, stderr, status interface {
		Write([]byte) (int, error)
		Close() error
	}
}

// exec runs a command, over WebSockets or SPDY.
func (k *kubelet) exec(out http.ResponseWriter, request *http.Request) {
	protocol := "SPDY"
	if wsstream.IsWebSocketRequest(request) {
		protocol = "WebSocket"
		if !k.webSockets.Load() {
			http.Error(out, "WebSockets are not supported", http.StatusBadRequest)
			return
		}
	}
	k.mu.Lock()
	k.users = append(k.users, request.Header.Get("Impersonate-User")+" "+protocol)
	k.mu.Unlock()
	if protocol == "WebSocket" {
		conn := wsstream.NewConn(map[string]wsstream.ChannelProtocolConfig{remotecommand.StreamProtocolV5Name: {
			Binary: true, Channels: []wsstream.ChannelType{
				wsstream.IgnoreChannel, wsstream.WriteChannel, wsstream.WriteChannel, wsstream.WriteChannel, wsstream.IgnoreChannel,
			},
		}})
		_, channels, err := conn.Open(out, request)
		if err != nil {
			return
		}
		defer conn.Close()
		k.run(request, streams{stdout: channels[1], stderr: channels[2], status: channels[3]})
		return
	}
	k.overSPDY(out, request)
}

// overSPDY waits for the streams of a command that uses SPDY, and runs it.
func (k *kubelet) overSPDY(out http.ResponseWriter, request *http.Request) {
	if _, err := httpstream.Handshake(request, out, []string{remotecommand.StreamProtocolV4Name}); err != nil {
		return
	}
	opened := make(chan httpstream.Stream, 3)
	conn := spdy.NewResponseUpgrader().UpgradeResponse(out, request, func(stream httpstream.Stream, _ <-chan struct{}) error {
		opened <- stream
		return nil
	})
	if conn == nil {
		return
	}
	defer conn.Close()
	var all streams
	for range 3 {
		select {
		case stream := <-opened:
			switch stream.Headers().Get(corev1.StreamType) {
			case corev1.StreamTypeStdout:
				all.stdout = stream
			case corev1.StreamTypeStderr:
				all.stderr = stream
			case corev1.StreamTypeError:
				all.status = stream
			}
		case <-conn.CloseChan():
			return
		}
	}
	k.run(request, all)
}

// run runs the command of a request below the root folder, and reports its exit code as
// kubelets do.
func (k *kubelet) run(request *http.Request, to streams) {
	command := request.URL.Query()["command"]
	for i, argument := range command {
		if filepath.IsAbs(argument) {
			command[i] = filepath.Join(k.root, argument)
		}
	}
	run := exec.CommandContext(request.Context(), command[0], command[1:]...)
	run.Stdout, run.Stderr = to.stdout, to.stderr
	status := metav1.Status{Status: metav1.StatusSuccess}
	var exit *exec.ExitError
	if err := run.Run(); errors.As(err, &exit) {
		status = metav1.Status{Status: metav1.StatusFailure, Reason: remotecommand.NonZeroExitCodeReason, Details: &metav1.StatusDetails{
			Causes: []metav1.StatusCause{{Type: remotecommand.ExitCodeCauseType, Message: strconv.Itoa(exit.ExitCode())}},
		}}
	} else if err != nil {
		status = metav1.Status{Status: metav1.StatusFailure, Message: err.Error()}
	}
	text, _ := json.Marshal(status) // a status can always be encoded
	_, _ = to.status.Write(text)    // the client is gone
	for _, stream := range []interface{ Close() error }{to.stdout, to.stderr, to.status} {
		_ = stream.Close() // the client is gone
	}
}

// keepReady binds the pods of a namespace to a node, reports them to be ready, and ends the
// deletion of pods, until the test ends.
func (c cluster) keepReady(t *testing.T, node string) {
	t.Helper()
	pods := c.CoreV1().Pods(c.Namespace)
	ctx := t.Context()
	var running sync.WaitGroup
	t.Cleanup(running.Wait)
	running.Go(func() {
		for ctx.Err() == nil {
			// Errors are conflicts and the end of the test; the next round tries again.
			list, err := pods.List(ctx, metav1.ListOptions{})
			if err != nil {
				continue
			}
			for _, pod := range list.Items {
				switch {
				case pod.DeletionTimestamp != nil:
					_ = pods.Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
				case pod.Spec.NodeName == "":
					_ = pods.Bind(ctx, &corev1.Binding{
						ObjectMeta: metav1.ObjectMeta{Name: pod.Name}, Target: corev1.ObjectReference{Kind: "Node", Name: node},
					}, metav1.CreateOptions{})
				case pod.Status.Phase != corev1.PodRunning:
					pod.Status.Phase = corev1.PodRunning
					pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
					_, _ = pods.UpdateStatus(ctx, &pod, metav1.UpdateOptions{})
				}
			}
			select {
			case <-time.After(50 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	})
}
