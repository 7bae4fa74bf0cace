package node

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
)

// Config is what an agent is told.
type Config struct {
	// Client has the credential of the node, and comes from Connect.
	Client kubernetes.Interface
	// Credential is what KeepCredential returned for Root, and is open as long as
	// the agent runs; nil if there is none. An agent without it takes the lock of
	// Root by itself.
	Credential *Credential
	// Name is that of the node.
	Name string
	// Root is the directory that the agent keeps everything in.
	Root string
	// MetricsAddress is where metrics are served; "" is nowhere.
	MetricsAddress string
	// HooksDir has the executables that pods may name; without it there are no
	// hooks. HooksUser, a name or a number, is who they run as.
	HooksDir, HooksUser string
	// SecretsOnDisk allows the content of Secrets on a file system that is not
	// in memory.
	SecretsOnDisk bool
	// WatchImmutable switches the feature ImmutableEphemeralVolumes off: objects
	// are followed whether they are immutable or not, each by its own watch.
	WatchImmutable bool
	// WatchEach follows each object by a watch of its own, although the server
	// may know better.
	WatchEach bool
	// Version is what the Node says of the agent.
	Version string

	// Volumes and State are where files and memory are kept, under Root unless
	// they are set; Clock is the real one unless it is set. HooksLimit is how long
	// a hook may take, half a minute unless it is set.
	Volumes    Volumes
	State      State
	Clock      clock.WithTicker
	HooksLimit time.Duration
	// InMemory tells whether a directory is on a file system in memory; the
	// default asks the system.
	InMemory func(dir string) (bool, error)
}

// Agent keeps the volumes of one node's pods. It runs once.
type Agent struct {
	Config
	hooks *hooks
	// onDisk says that secret content may not be kept where the volumes are.
	onDisk bool

	digest   digester
	resolver *resolver
	watches  watching
	pods     cache.SharedIndexInformer
	queue    workqueue.TypedRateLimitingInterface[cache.ObjectName]
	events   record.EventRecorder
	metrics  *metrics

	// holdfast says that the server leaves the end of pods to agents. It is
	// known before the first pod is looked at.
	holdfast bool

	mu      sync.Mutex
	records map[types.UID]*Record
	// uses are the pods that name an object.
	uses map[Ref]map[cache.ObjectName]bool
	// failing are volumes that are not what they should be, and since when.
	failing map[volumeID]time.Time
	// damaged are pods whose records could not be read.
	damaged []types.UID
	// told is what was last said of a pod's volumes.
	told map[types.UID]string
}

// volumeID is one volume of one pod.
type volumeID struct {
	pod  types.UID
	name string
}

// New checks a configuration. Nothing is touched before Run.
func New(config Config) (*Agent, error) {
	switch {
	case config.Client == nil:
		return nil, errors.New("node agent: no client")
	case config.Name == "":
		return nil, errors.New("node agent: the node has no name")
	case config.Root == "" && (config.Volumes == nil || config.State == nil):
		return nil, errors.New("node agent: no root directory")
	}
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	if config.InMemory == nil {
		config.InMemory = inMemory
	}
	if config.HooksLimit == 0 {
		config.HooksLimit = hookLimit
	}
	a := &Agent{
		Config:  config,
		records: map[types.UID]*Record{},
		uses:    map[Ref]map[cache.ObjectName]bool{},
		failing: map[volumeID]time.Time{},
		told:    map[types.UID]string{},
	}
	var err error
	if a.hooks, err = newHooks(config.HooksDir, config.HooksUser); err != nil {
		return nil, err
	}
	if a.hooks != nil {
		a.hooks.limit = config.HooksLimit
	}
	a.metrics = newMetrics(a)
	return a, nil
}

// Metrics are those of this agent.
func (a *Agent) Metrics() prometheus.Gatherer { return a.metrics.registry }

// Run keeps volumes until ctx ends, and returns when everything it started has
// ended. What is on disk stays.
func (a *Agent) Run(ctx context.Context) error {
	unlock, err := a.open()
	if err != nil {
		return fmt.Errorf("node agent: %w", err)
	}
	defer unlock()
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	if err := a.load(); err != nil {
		return fmt.Errorf("node agent: %w", err)
	}
	if err := a.serveMetrics(ctx, &running); err != nil {
		return fmt.Errorf("node agent: metrics: %w", err)
	}
	a.startEvents(ctx, &running)
	running.Go(func() { a.keepLease(ctx) })
	running.Go(func() { a.keepNode(ctx) })
	return a.work(ctx, &running)
}

// open makes the directories and takes the lock of the root, unless the
// credential has it.
func (a *Agent) open() (unlock func(), err error) {
	unlock = func() {}
	if a.Volumes != nil && a.State != nil {
		return unlock, nil
	}
	if !a.Credential.holds(a.Root) {
		lock, err := lockRoot(a.Root)
		if err != nil {
			return nil, err
		}
		unlock = func() { _ = lock.Close() }
	}
	if err := a.openRoot(); err != nil {
		unlock()
		return nil, err
	}
	return unlock, nil
}

// openRoot makes the directories of a root that is locked.
func (a *Agent) openRoot() error {
	if a.Volumes == nil {
		volumes := diskVolumes{dir: filepath.Join(a.Root, "pods"), group: a.hooks.group()}
		if err := volumes.open(); err != nil {
			return err
		}
		a.Volumes = volumes
	}
	if a.State == nil {
		state := diskState{dir: filepath.Join(a.Root, "state")}
		if err := state.open(); err != nil {
			return err
		}
		a.State = state
	}
	memory, err := a.InMemory(a.Root)
	if err != nil {
		return fmt.Errorf("file system of %s: %w", a.Root, err)
	}
	a.onDisk = !memory && !a.SecretsOnDisk
	return nil
}

// inUse are the pods that name an object.
func (a *Agent) inUse(ref Ref) []cache.ObjectName {
	a.mu.Lock()
	defer a.mu.Unlock()
	var pods []cache.ObjectName
	for pod := range a.uses[ref] {
		pods = append(pods, pod)
	}
	return pods
}

// changed has every pod looked at that names an object.
func (a *Agent) changed(ref Ref) {
	for _, pod := range a.inUse(ref) {
		a.queue.Add(pod)
	}
}

// podOf is the pod of a name that is bound to this node, or nil.
func (a *Agent) podOf(name cache.ObjectName) (*corev1.Pod, error) {
	obj, found, err := a.pods.GetIndexer().GetByKey(name.String())
	if err != nil || !found {
		return nil, err
	}
	pod, ok := obj.(*corev1.Pod)
	if !ok || pod.Spec.NodeName != a.Name {
		return nil, nil
	}
	return pod, nil
}
