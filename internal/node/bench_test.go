package node_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

// hollowSize is the environment variable with the size of the benchmark, as NODESxPODS. The
// default is 20x5, and 2x2 with -short. hollowSteady is the one with the time for which the
// server is measured after all volumes are ready. hollowOutage is the one with the time for which the
// server is down afterwards; 0 leaves the restart out. Both are one second by default.
const (
	hollowSize   = "HOLDFAST_HOLLOW"
	hollowSteady = "HOLDFAST_HOLLOW_STEADY"
	hollowOutage = "HOLDFAST_HOLLOW_OUTAGE"
)

// BenchmarkHollowNodes runs many agents in this process, against a server in another
// process. The agents keep their volumes in memory. Every pod has its own ConfigMap and its
// own Secret, and with "account" also the volume of its service account. The benchmark measures how
// long it takes until all volumes are ready, how much memory and CPU time the server needs until
// then and afterwards, and how fast the agents reconnect after the server was killed.
//
// With -short only the success counts, not the figures: all cases share one server, and the
// benchmark kills it in the last case only.
func BenchmarkHollowNodes(b *testing.B) {
	nodes, pods := 20, 5
	if testing.Short() {
		nodes, pods = 2, 2
	}
	if text := os.Getenv(hollowSize); text != "" {
		if _, err := fmt.Sscanf(text, "%dx%d", &nodes, &pods); err != nil {
			b.Fatalf("%s=%s: must be NODESxPODS", hollowSize, text)
		}
	}
	steady, outage := durationFrom(b, hollowSteady), durationFrom(b, hollowOutage)
	server := startBenchServer
	if testing.Short() {
		common := startBenchServer(b)
		server = func(*testing.B) *benchServer { return common }
		steady = min(steady, 100*time.Millisecond)
	}
	for i, run := range hollowRuns {
		run.nodes, run.pods, run.outage, run.steady = nodes, pods, outage, steady
		if testing.Short() && i < len(hollowRuns)-1 {
			run.outage = 0
		}
		b.Run(fmt.Sprintf("%dx%d/%s", nodes, pods, run.name), func(b *testing.B) {
			for b.Loop() {
				run.bench(b, server(b))
			}
		})
	}
}

// durationFrom returns the duration in an environment variable, or one second.
func durationFrom(b *testing.B, name string) time.Duration {
	b.Helper()
	text := os.Getenv(name)
	if text == "" {
		return time.Second
	}
	duration, err := time.ParseDuration(text)
	if err != nil {
		b.Fatalf("%s=%s: %v", name, text, err)
	}
	return duration
}

// hollowRuns are the cases. With watchEach, an agent opens one watch for each object, as a kubelet
// does.
var hollowRuns = []hollowRun{
	{name: "mutable", objects: mutable},
	{name: "mixed", objects: mixed},
	{name: "immutable", objects: immutable},
	{name: "mutable-watch-each", watchEach: true},
	{name: "immutable-watched", objects: immutable, watchImmutable: true},
	{name: "mutable-account", account: true},
	{name: "mixed-account", objects: mixed, account: true},
	{name: "immutable-account", objects: immutable, account: true},
	{name: "mutable-account-watch-each", account: true, watchEach: true},
}

// hollowObjects says which objects of a run are immutable.
type hollowObjects int

const (
	mutable hollowObjects = iota
	// mixed means that the objects of every second pod are immutable.
	mixed
	immutable
)

// hollowRun is one case of the benchmark.
type hollowRun struct {
	name string
	// prefix begins the names of the nodes and pods. It is unique on the server.
	prefix                    string
	nodes, pods               int
	objects                   hollowObjects
	watchEach, watchImmutable bool
	// account is true if pods have the volume of their service account: a token, and the
	// mutable ConfigMap kube-root-ca.crt.
	account bool
	// steady is how long the server is measured when all volumes are ready. outage is how
	// long the server is down afterwards; 0 means that it is not restarted.
	steady, outage time.Duration
}

func (r hollowRun) bench(b *testing.B, server *benchServer) {
	server.runs++
	r.prefix = fmt.Sprintf("run-%d", server.runs)
	client := server.Client(b)
	servertest.AwaitAccount(b, client, metav1.NamespaceDefault)
	if err := r.createPods(b.Context(), client); err != nil {
		b.Fatal(err)
	}
	idle, begin, cpu := server.memory(b), time.Now(), server.cpuTime(b)
	fleet := startFleet(b, servertest.Config(b, server.config.Kubeconfig), server.authority(b), r)
	volumes := int64(r.nodes * r.pods * r.volumesPerPod())
	awaitCount(b, "ready volumes", int(volumes), func() int { return int(fleet.writes.Load()) })
	b.ReportMetric(time.Since(begin).Seconds(), "ready-s")
	want := r.watches()
	awaitCount(b, "open watches of agents", want, func() int { return fleet.watches(b) })
	b.ReportMetric((server.cpuTime(b) - cpu).Seconds(), "server-cpu-s")
	b.ReportMetric(float64(want-r.nodes), "object-watches")
	before := server.cpuTime(b)
	time.Sleep(r.steady) // the time of the measurement; the benchmark waits for nothing here
	b.ReportMetric(float64((server.cpuTime(b)-before).Milliseconds())/r.steady.Seconds(), "steady-cpu-ms/s")
	b.ReportMetric(server.memory(b), "server-MB")
	b.ReportMetric(server.memory(b)-idle, "agents-MB")
	if r.outage > 0 {
		r.restart(b, server, fleet)
	}
	if touched := fleet.writes.Load() - volumes; touched != 0 {
		b.Errorf("%d volumes were written again", touched)
	}
	fleet.stop()
	if !testing.Short() {
		server.Kill()
	}
}

// restart kills the server, starts it again, and waits until all agents are connected.
func (r hollowRun) restart(b *testing.B, server *benchServer, fleet *fleet) {
	b.Helper()
	want := r.watches()
	fleet.rate.reset()
	server.Kill()
	time.Sleep(r.outage) // fleet.rate counts the requests of the agents in this time; the benchmark waits for nothing
	server.start(b)
	back := time.Now()
	awaitCount(b, "watches that are open again", want, func() int { return min(fleet.watches(b), server.watches(b)) })
	b.ReportMetric(time.Since(back).Seconds(), "back-s")
	answered, failed := fleet.rate.peaks()
	b.ReportMetric(failed, "peak-down-req/s")
	b.ReportMetric(answered, "peak-back-req/s")
}

// awaitCount waits until a count has a value. A large run on a busy machine takes longer than one wait, so each wait is for the
// next change of the count.
func awaitCount(b *testing.B, what string, want int, count func() int) {
	b.Helper()
	for have := count(); have != want; {
		waittest.Until(b, fmt.Sprintf("%s: %d of %d, and more", what, have, want), func() bool {
			now := count()
			changed := now != have
			have = now
			return changed
		})
	}
}

// watches returns the number of open watches of all agents when all volumes are ready: one
// for pods on each node, and those for objects.
func (r hollowRun) watches() int {
	changing := 0 // pods of a node with mutable objects
	for p := range r.pods {
		if r.watchImmutable || !r.isImmutable(p) {
			changing++
		}
	}
	rootCA := 0
	if r.account {
		rootCA = 1
	}
	switch {
	case r.watchEach || r.watchImmutable:
		return r.nodes * (1 + rootCA + 2*changing)
	case changing > 0:
		return r.nodes * 3
	}
	return r.nodes * (1 + rootCA)
}

// nodeName returns the name of a node of the run.
func (r hollowRun) nodeName(n int) string { return fmt.Sprintf("%s-node-%d", r.prefix, n) }

// isImmutable reports whether the objects of a pod of a node are immutable.
func (r hollowRun) isImmutable(pod int) bool {
	return r.objects == immutable || r.objects == mixed && pod%2 == 0
}

func (r hollowRun) volumesPerPod() int {
	if r.account {
		return 3
	}
	return 2
}

// createPods creates the pods of all nodes and the objects that they use.
func (r hollowRun) createPods(ctx context.Context, client kubernetes.Interface) error {
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(32)
	for n := range r.nodes {
		for p := range r.pods {
			work.Go(func() error {
				name, immutable := fmt.Sprintf("%s-%d-%d", r.prefix, n, p), ptr.To(r.isImmutable(p))
				meta := metav1.ObjectMeta{Name: name}
				core := client.CoreV1()
				_, err := core.ConfigMaps("default").Create(ctx, &corev1.ConfigMap{
					ObjectMeta: meta, Immutable: immutable, Data: map[string]string{"app.conf": strings.Repeat("x", 1024)},
				}, metav1.CreateOptions{})
				if err != nil {
					return err
				}
				_, err = core.Secrets("default").Create(ctx, &corev1.Secret{
					ObjectMeta: meta, Immutable: immutable, StringData: map[string]string{"password": "hunter2"},
				}, metav1.CreateOptions{})
				if err != nil {
					return err
				}
				_, err = core.Pods("default").Create(ctx, &corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{
					NodeName: r.nodeName(n), AutomountServiceAccountToken: &r.account,
					Containers: []corev1.Container{{Name: "c", Image: "i"}},
					Volumes: []corev1.Volume{
						{Name: "conf", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
							LocalObjectReference: corev1.LocalObjectReference{Name: name},
						}}},
						{Name: "key", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}}},
					},
				}}, metav1.CreateOptions{})
				return err
			})
		}
	}
	return work.Wait()
}
