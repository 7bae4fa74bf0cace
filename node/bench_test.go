package node_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"holdfast.dev/holdfast/access"
	"holdfast.dev/holdfast/apiserver"
	"holdfast.dev/holdfast/apiserver/servertest"
)

// hollowSize is the environment variable with the size of the benchmark, as NODESxPODS. The
// default is 20x5, and 4x2 with -short. hollowSteady is the one with the time for which the
// server is measured after all volumes are ready.
const (
	hollowSize   = "HOLDFAST_HOLLOW"
	hollowSteady = "HOLDFAST_HOLLOW_STEADY"
)

// BenchmarkHollowNodes runs many agents in this process, against a server in another
// process. The agents keep their volumes in memory. Every pod has its own ConfigMap and its
// own Secret, and with "account" also the volume of its service account. The benchmark measures how
// long it takes until all volumes are ready, how much memory and CPU time the server needs until
// then and afterwards, and how fast the agents reconnect after the server was killed.
func BenchmarkHollowNodes(b *testing.B) {
	nodes, pods, outage := 20, 5, time.Second
	if testing.Short() {
		nodes, pods = 4, 2
	}
	if text := os.Getenv(hollowSize); text != "" {
		outage = 10 * time.Second
		if _, err := fmt.Sscanf(text, "%dx%d", &nodes, &pods); err != nil {
			b.Fatalf("%s=%s: must be NODESxPODS", hollowSize, text)
		}
	}
	steady := time.Second
	if text := os.Getenv(hollowSteady); text != "" {
		var err error
		if steady, err = time.ParseDuration(text); err != nil {
			b.Fatalf("%s=%s: %v", hollowSteady, text, err)
		}
	}
	for _, run := range hollowRuns {
		run.nodes, run.pods, run.outage, run.steady = nodes, pods, outage, steady
		b.Run(fmt.Sprintf("%dx%d/%s", nodes, pods, run.name), func(b *testing.B) {
			for b.Loop() {
				run.bench(b)
			}
		})
	}
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
	name                      string
	nodes, pods               int
	objects                   hollowObjects
	watchEach, watchImmutable bool
	// account is true if pods have the volume of their service account: a token, and the
	// mutable ConfigMap kube-root-ca.crt.
	account bool
	// steady is how long the server is measured when all volumes are ready. outage is how
	// long the server is down afterwards.
	steady, outage time.Duration
}

func (r hollowRun) bench(b *testing.B) {
	server := startServer(b, b.TempDir(), freePort(b))
	config := servertest.Config(b, server.kubeconfig)
	if err := r.createPods(b.Context(), kubernetes.NewForConfigOrDie(config)); err != nil {
		b.Fatal(err)
	}
	pki, err := access.OpenPKI(filepath.Join(server.dir, "pki"), nil)
	if err != nil {
		b.Fatal(err)
	}
	begin, cpu := time.Now(), server.cpuTime(b)
	fleet := startFleet(b, config, pki.Authority(), r)
	volumes := int64(r.nodes * r.pods * r.volumesPerPod())
	waitFor(b, "all volumes are ready", func() bool { return fleet.writes.Load() == volumes })
	b.ReportMetric(time.Since(begin).Seconds(), "ready-s")
	want := r.watches()
	waitFor(b, fmt.Sprintf("agents have %d watches open", want), func() bool { return fleet.watches(b) == want })
	b.ReportMetric((server.cpuTime(b) - cpu).Seconds(), "server-cpu-s")
	b.ReportMetric(float64(want-r.nodes), "object-watches")
	before := server.cpuTime(b)
	time.Sleep(r.steady)
	b.ReportMetric(float64((server.cpuTime(b)-before).Milliseconds())/r.steady.Seconds(), "steady-cpu-ms/s")
	b.ReportMetric(server.memory(b), "server-MB")

	// Kill the server and start it again at the same address.
	fleet.rate.reset()
	server.kill()
	time.Sleep(r.outage)
	server = startServer(b, server.dir, server.port(b))
	back := time.Now()
	waitFor(b, "every agent is back", func() bool { return fleet.watches(b) == want && server.watches(b) >= want })
	b.ReportMetric(time.Since(back).Seconds(), "back-s")
	answered, failed := fleet.rate.peaks()
	b.ReportMetric(failed, "peak-down-req/s")
	b.ReportMetric(answered, "peak-back-req/s")
	if touched := fleet.writes.Load() - volumes; touched != 0 {
		b.Errorf("%d volumes were written again", touched)
	}
	fleet.stop()
	server.kill()
}

// waitFor waits until a condition holds. The limit of 20 minutes is for large runs on a busy
// machine.
func waitFor(b *testing.B, what string, holds func() bool) {
	b.Helper()
	for end := time.Now().Add(20 * time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if holds() {
			return
		}
	}
	b.Fatalf("not in time: %s", what)
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
				name, immutable := fmt.Sprintf("web-%d-%d", n, p), ptr.To(r.isImmutable(p))
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
					NodeName: fmt.Sprintf("node-%d", n), AutomountServiceAccountToken: &r.account,
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

// childServerEnv is the environment variable that turns this test binary into a server. Its
// value is the apiserver.Config in JSON.
const childServerEnv = "HOLDFAST_TEST_CONFIG"

func serveChild(text string) error {
	var config apiserver.Config
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	server, err := apiserver.New(ctx, config)
	if err != nil {
		return err
	}
	return server.Run(ctx, func() { fmt.Println(server.URL()) })
}

// process is a server that runs in a child process.
type process struct {
	cmd                  *exec.Cmd
	dir, kubeconfig, url string
}

// freePort returns a free port below the range that the kernel uses for outgoing
// connections. Otherwise, while the server is down, one of thousands of clients could get
// this port for its own end of a connection, and the server could not listen on it again.
func freePort(b *testing.B) int {
	b.Helper()
	for port := 20000; port < 32000; port++ {
		if listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			_ = listener.Close()
			return port
		}
	}
	b.Fatal("no port is free")
	return 0
}

func startServer(b *testing.B, dir string, port int) *process {
	b.Helper()
	p := &process{cmd: exec.Command(os.Args[0]), dir: dir, kubeconfig: filepath.Join(dir, "admin.kubeconfig")}
	text, err := json.Marshal(apiserver.Config{DataDir: dir, Port: port})
	if err != nil {
		b.Fatal(err)
	}
	p.cmd.Env = append(os.Environ(), childServerEnv+"="+string(text))
	var stderr bytes.Buffer
	p.cmd.Stderr = &stderr
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(p.kill)
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		b.Fatalf("server in %s: %v: %v\n%s", dir, err, p.cmd.Wait(), stderr.String())
	}
	p.url = strings.TrimSpace(line)
	go func() { _, _ = io.Copy(io.Discard, stdout) }()
	return p
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

func (p *process) port(b *testing.B) int {
	b.Helper()
	return portOf(b, p.url)
}

// memory returns the resident memory of the server in MB, or 0 where there is no /proc.
func (p *process) memory(b *testing.B) float64 {
	b.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if errors.Is(err, os.ErrNotExist) {
		return 0
	}
	if err != nil {
		b.Fatal(err)
	}
	found := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(data)
	if found == nil {
		b.Fatal("no VmRSS")
	}
	return float64(number(b, string(found[1]))) / 1000
}

// cpuTime returns the CPU time of the server, or 0 where there is no /proc.
func (p *process) cpuTime(b *testing.B) time.Duration {
	b.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if errors.Is(err, os.ErrNotExist) {
		return 0
	}
	if err != nil {
		b.Fatal(err)
	}
	// The name of the command, in parentheses, may contain spaces and parentheses. User and
	// system time are the 12th and 13th field after it, in hundredths of a second.
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	return time.Duration(number(b, fields[11])+number(b, fields[12])) * 10 * time.Millisecond
}

var watchMetric = regexp.MustCompile(`(?m)^apiserver_longrunning_requests\{.*resource="(configmaps|secrets|pods)".*verb="WATCH".*\} (\S+)$`)

// watches returns the number of open watches of pods and objects, from the metrics of the
// server. Some of them belong to the server itself.
func (p *process) watches(b *testing.B) int {
	b.Helper()
	client := kubernetes.NewForConfigOrDie(servertest.Config(b, p.kubeconfig))
	text, err := client.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	open := 0.0
	for _, found := range watchMetric.FindAllSubmatch(text, -1) {
		count, err := strconv.ParseFloat(string(found[2]), 64)
		if err != nil {
			b.Fatal(err)
		}
		open += count
	}
	return int(open)
}
