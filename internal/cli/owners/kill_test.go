package owners_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/cli"
)

// TestMain makes the test binary the program holdfast, which the test kills.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"holdfast": func() { os.Exit(cli.Main()) }})
}

const namespace = "killed"

// killer is a proxy before the server that kills its client at one of its writes. Step 2n is before the server gets write n, and step
// 2n+1 is after the server has stored it and before the client has the answer.
type killer struct {
	server http.Handler

	mu     sync.Mutex
	writes int
	step   int
	client *os.Process
	// before is called before the first write, unless it is nil.
	before func()
}

func (k *killer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPatch {
		k.server.ServeHTTP(w, r)
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.before != nil {
		k.before()
		k.before = nil
	}
	before := k.step == 2*k.writes
	after := k.step == 2*k.writes+1
	k.writes++
	if !before {
		answer := httptest.NewRecorder()
		k.server.ServeHTTP(answer, r)
		if !after {
			for name, values := range answer.Header() {
				w.Header()[name] = values
			}
			w.WriteHeader(answer.Code)
			_, _ = w.Write(answer.Body.Bytes())
			return
		}
	}
	_ = k.client.Kill()
	// The client must not get an answer.
	panic(http.ErrAbortHandler)
}

// killed runs the tests of a server with objects.
type killed struct {
	*killer
	kubernetes.Interface
	kubeconfig string
	objects    int
}

func newKilled(t *testing.T, objects int) *killed {
	t.Helper()
	server := servertest.Start(t, apiserver.Config{})
	config := server.Config(t)
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport = transport
	k := &killed{killer: &killer{server: proxy}, Interface: server.Client(t), objects: objects}
	front := httptest.NewServer(k.killer)
	t.Cleanup(front.Close)
	k.kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	file := clientcmdapi.NewConfig()
	file.Clusters["c"] = &clientcmdapi.Cluster{Server: front.URL}
	file.Contexts["c"] = &clientcmdapi.Context{Cluster: "c", Namespace: namespace}
	file.CurrentContext = "c"
	if err := clientcmd.WriteToFile(*file, k.kubeconfig); err != nil {
		t.Fatal(err)
	}
	servertest.CreateNamespace(t, k, namespace)
	for i := range objects {
		obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("settings-%d", i)}, Data: map[string]string{"a": "one"}}
		if _, err := k.CoreV1().ConfigMaps(namespace).Create(t.Context(), obj, metav1.CreateOptions{FieldManager: "old"}); err != nil {
			t.Fatal(err)
		}
		// The new manager owns a field already in every second object.
		if i%2 == 1 {
			apply := fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q},"data":{"a":"one"}}`, obj.Name)
			options := metav1.PatchOptions{FieldManager: "new"}
			if _, err := k.CoreV1().ConfigMaps(namespace).Patch(t.Context(), obj.Name, "application/apply-patch+yaml", apply, options); err != nil {
				t.Fatal(err)
			}
		}
	}
	return k
}

// run runs transfer and kills it at a step, or after a while. It reports whether the command ended by itself.
func (k *killed) run(t *testing.T, step int, after time.Duration, args ...string) bool {
	t.Helper()
	ctx := t.Context()
	if after > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, after)
		defer cancel()
	}
	cmd := exec.CommandContext(ctx, "holdfast", append([]string{"transfer", "--rate", "1000", "--kubeconfig", k.kubeconfig}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	k.mu.Lock()
	err := cmd.Start()
	k.writes, k.step, k.client = 0, step, cmd.Process
	k.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	// -1 is the exit code of a process that a signal has ended.
	if err != nil && cmd.ProcessState.ExitCode() != -1 {
		t.Fatalf("holdfast %s: %v: %s", strings.Join(args, " "), err, output.String())
	}
	return err == nil
}

// state returns the managed fields of each object, without their order and the time of the new manager.
func (k *killed) state(t *testing.T) []string {
	t.Helper()
	list, err := k.CoreV1().ConfigMaps(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var states []string
	for _, obj := range list.Items {
		if !strings.HasPrefix(obj.Name, "settings-") {
			continue
		}
		if obj.Data["a"] != "one" {
			t.Fatalf("%s has the data %v", obj.Name, obj.Data)
		}
		entries := map[string]metav1.ManagedFieldsEntry{}
		for _, entry := range obj.ManagedFields {
			if entry.Manager == "new" {
				entry.Time = nil
			}
			entries[entry.Manager] = entry
		}
		text, err := json.Marshal(entries)
		if err != nil {
			t.Fatal(err)
		}
		states = append(states, string(text))
	}
	if len(states) != k.objects {
		t.Fatalf("there are %d objects, want %d", len(states), k.objects)
	}
	return states
}

// TestSoakKilledTransfer kills a transfer and its undo with SIGKILL at each of its steps: before the server gets a write, and after the
// server has stored it. Each object is then as before or as after the move, and a second run finishes. HOLDFAST_SOAK sets the
// duration of a longer test of at least 100 rounds, which also kills at random times. HOLDFAST_SEED repeats the times of a run.
func TestSoakKilledTransfer(t *testing.T) {
	limit, rounds, objects := time.Duration(0), 0, 2
	if text := os.Getenv("HOLDFAST_SOAK"); text != "" {
		var err error
		if limit, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
		rounds, objects = 100, 6
	}
	steps := 2 * objects
	rounds = max(rounds, steps)
	seed := uint64(1)
	if limit > 0 {
		seed = uint64(time.Now().UnixNano())
	}
	if text := os.Getenv("HOLDFAST_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("HOLDFAST_SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	k := newKilled(t, objects)
	before := k.state(t)
	first := filepath.Join(t.TempDir(), "first.jsonl")
	k.run(t, -1, 0, "configmaps", "--from", "old", "--to", "new", "--record", first)
	moved := k.state(t)
	checkMoved(t, moved)
	k.run(t, -1, 0, "--undo", first)
	if diff := cmp.Diff(before, k.state(t)); diff != "" {
		t.Fatalf("undo (-want +got):\n%s", diff)
	}
	interrupted := 0
	round := 0
	for begin := time.Now(); round < rounds || time.Since(begin) < limit; round++ {
		record := filepath.Join(t.TempDir(), "moved.jsonl")
		step, after := round%steps, time.Duration(0)
		if round >= steps && round%2 == 1 {
			step, after = -1, time.Duration(random.IntN(400)+1)*time.Millisecond
		}
		forth := []string{"configmaps", "--from", "old", "--to", "new", "--record", record}
		if !k.run(t, step, after, forth...) {
			interrupted++
		}
		k.check(t, before, moved)
		k.run(t, -1, 0, forth...)
		if diff := cmp.Diff(moved, k.state(t)); diff != "" {
			t.Fatalf("step %d, the second run (-want +got):\n%s", step, diff)
		}
		if !k.run(t, step, after, "--undo", record) {
			interrupted++
		}
		k.check(t, before, moved)
		k.run(t, -1, 0, "--undo", record)
		if diff := cmp.Diff(before, k.state(t)); diff != "" {
			t.Fatalf("step %d, the second undo (-want +got):\n%s", step, diff)
		}
	}
	t.Logf("%d rounds: %d of %d runs were killed; seed %d", round, interrupted, 2*round, seed)
	if interrupted < 2*steps-2 {
		t.Errorf("only %d runs were killed", interrupted)
	}
}

// check checks that each object is as before or as after the move.
func (k *killed) check(t *testing.T, before, moved []string) {
	t.Helper()
	for i, state := range k.state(t) {
		if state != before[i] && state != moved[i] {
			t.Fatalf("object %d is between:\n%s\nbefore:\n%s\nmoved:\n%s", i, state, before[i], moved[i])
		}
	}
}

// checkMoved checks that the earlier manager owns nothing any more.
func checkMoved(t *testing.T, states []string) {
	t.Helper()
	for _, state := range states {
		if strings.Contains(state, `"old"`) || !strings.Contains(state, `"manager":"new"`) {
			t.Fatalf("not moved: %s", state)
		}
	}
}

// TestTransferOfChangedObject changes an object, or creates it again, between the list and the write of a transfer. The command reads it
// again, moves its fields as they are then, and records both attempts.
func TestTransferOfChangedObject(t *testing.T) {
	k := newKilled(t, 1)
	maps := k.CoreV1().ConfigMaps(namespace)
	for name, change := range map[string]func(){
		"changed": func() {
			// No other test writes this value: without a change, nothing is stored.
			patch := []byte(`{"data":{"b":"three"}}`)
			if _, err := maps.Patch(t.Context(), "settings-0", types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "old"}); err != nil {
				t.Error(err)
			}
		},
		"created again": func() {
			obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings-0"}, Data: map[string]string{"a": "one", "b": "two"}}
			if err := maps.Delete(t.Context(), obj.Name, metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
			if _, err := maps.Create(t.Context(), obj, metav1.CreateOptions{FieldManager: "old"}); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			record := filepath.Join(t.TempDir(), "moved.jsonl")
			k.before = change
			if !k.run(t, -1, 0, "configmaps", "--from", "old", "--to", "new", "--record", record) {
				t.Fatal("the command was killed")
			}
			state := k.state(t)
			checkMoved(t, state)
			if !strings.Contains(state[0], `"f:b"`) {
				t.Errorf("the new manager does not own the new field: %s", state[0])
			}
			lines, err := os.ReadFile(record)
			if err != nil || bytes.Count(lines, []byte("\n")) != 3 {
				t.Errorf("the record is %s: %v", lines, err)
			}
			k.run(t, -1, 0, "--undo", record)
			if state := k.state(t); strings.Contains(state[0], `"new"`) || !strings.Contains(state[0], `"f:b"`) {
				t.Errorf("not moved back: %s", state[0])
			}
		})
	}
}
