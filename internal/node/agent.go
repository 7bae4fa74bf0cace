package node

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"holdfast.dev/holdfast/internal/reconcile"
)

// Config configures an agent.
type Config struct {
	// Client authenticates as the node. Connect creates it.
	Client kubernetes.Interface
	// Credential is the result of KeepCredential for Root, or nil. The caller must
	// not close it while the agent runs. It holds the lock of Root; an agent without
	// a Credential locks Root itself.
	Credential *Credential
	// Name is the name of the node.
	Name string
	// Root is the directory for everything that the agent stores. New makes its path absolute.
	// TakeOver allows a root that belongs to another node.
	Root     string
	TakeOver bool
	// MetricsAddress is the address that serves /metrics; empty turns metrics off.
	MetricsAddress string
	// HooksDir is the directory of the executables that pods may name as hooks;
	// empty turns hooks off. HooksUser is the user that hooks run as, by name or by
	// number.
	HooksDir, HooksUser string
	// FilesGroup is the group, by name or by number, of files for which the pod sets no
	// group. The default is the group of HooksUser.
	FilesGroup string
	// SecretsOnDisk allows the agent to write Secrets to a file system that is not
	// in memory.
	SecretsOnDisk bool
	// WatchImmutable turns the feature ImmutableEphemeralVolumes off. The agent then
	// pins nothing and opens one watch for each object, mutable or not.
	WatchImmutable bool
	// WatchEach opens one watch for each mutable object, even if the server supports
	// one watch for each kind.
	WatchEach bool
	// NamespaceLimit is how many bytes of Root the pods of one namespace may use. The default
	// is a quarter of the file system of Root.
	NamespaceLimit int64
	// FinishedTTL is how long the files of a pod stay after the pod succeeded or failed.
	FinishedTTL time.Duration
	// Version is the version of the agent in the status of the Node.
	Version string

	// Volumes stores the files of pods; the default is a directory below Root.
	Volumes Volumes
	// State stores records and pinned objects; the default is a directory below Root.
	State State
	// Clock is the real clock by default.
	Clock clock.WithTicker
	// HookTimeout is the timeout of one run of a hook, 30 seconds by default.
	HookTimeout time.Duration
	// HookConcurrency is the number of hooks that run at the same time, 8 by default.
	HookConcurrency int
	// InMemory reports whether a directory is on a file system in memory. The
	// default asks the operating system.
	InMemory func(dir string) (bool, error)
}

// Agent writes and updates the volumes of the pods of one node. Call Run once.
type Agent struct {
	Config
	hooks *hooks
	// hookQueue runs the hooks. Run creates it.
	hookQueue *hookQueue
	// filesGroup is the group of files for which the pod sets none.
	filesGroup *int
	// refuseSecrets is true if Root is on a disk and SecretsOnDisk is not set. The
	// agent then writes no volume with Secrets or tokens.
	refuseSecrets bool

	digest   digester
	space    *space
	resolver *resolver
	trust    *trustWatcher
	watches  watchCounter
	pods     cache.SharedIndexInformer
	loop     *reconcile.Loop[cache.ObjectName]
	events   record.EventRecorder
	metrics  *metrics

	// holdfast is true if the server is a Holdfast server. It is set before the first pod
	// is synced.
	holdfast bool
	// ownership says whether the Node belongs to this agent. keepNode sets it.
	ownership atomic.Int32
	// fail ends Run with an error. Run sets it.
	fail context.CancelCauseFunc

	mu      sync.Mutex
	records map[types.UID]*Record
	// users holds, for each object, the pods that reference it.
	users map[Ref]map[cache.ObjectName]bool
	// failing holds the volumes that could not be brought up to date, and since when.
	failing map[volumeID]time.Time
	// damaged lists the UIDs of pods with a record that could not be read.
	damaged []types.UID
	// reported holds the last message that the agent reported for each pod.
	reported map[types.UID]string
}

// volumeID identifies one volume of one pod.
type volumeID struct {
	pod  types.UID
	name string
}

// New validates config and returns an agent. It creates no files and sends no requests;
// Run does.
func New(config Config) (*Agent, error) {
	switch {
	case config.Client == nil:
		return nil, errors.New("node agent: no client")
	case config.Name == "":
		return nil, errors.New("node agent: the node has no name")
	case CheckName(config.Name) != nil:
		return nil, fmt.Errorf("node agent: %w", CheckName(config.Name))
	case config.Root == "" && (config.Volumes == nil || config.State == nil):
		return nil, errors.New("node agent: no root directory")
	}
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	if config.InMemory == nil {
		config.InMemory = inMemory
	}
	if config.HookTimeout == 0 {
		config.HookTimeout = hookTimeout
	}
	if config.HookConcurrency == 0 {
		config.HookConcurrency = hookConcurrency
	}
	if config.NamespaceLimit < 0 {
		return nil, errors.New("node agent: --namespace-limit must not be negative")
	}
	if config.HookTimeout < 0 || config.HookConcurrency < 0 {
		return nil, errors.New("node agent: --hook-timeout and --hook-concurrency must be greater than 0")
	}
	a := &Agent{
		Config:   config,
		space:    &space{limit: config.NamespaceLimit},
		records:  map[types.UID]*Record{},
		users:    map[Ref]map[cache.ObjectName]bool{},
		failing:  map[volumeID]time.Time{},
		reported: map[types.UID]string{},
	}
	var err error
	if a.Root, err = absoluteRoot(a.Root); err != nil {
		return nil, fmt.Errorf("--root: %w", err)
	}
	if a.hooks, err = newHooks(config.HooksDir, config.HooksUser); err != nil {
		return nil, err
	}
	if a.hooks != nil {
		a.hooks.timeout = config.HookTimeout
	}
	if a.filesGroup, err = defaultGroup(config.FilesGroup, a.hooks); err != nil {
		return nil, err
	}
	a.trust = &trustWatcher{agent: a}
	a.metrics = newMetrics(a)
	return a, nil
}

// Metrics returns the metrics of this agent.
func (a *Agent) Metrics() prometheus.Gatherer { return a.metrics.registry }

// Run keeps the volumes up to date until ctx ends. It returns when all goroutines
// that it started have ended. Files and state stay on disk.
func (a *Agent) Run(ctx context.Context) error {
	unlock, err := a.open()
	if err != nil {
		return fmt.Errorf("node agent: %w", err)
	}
	defer unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	a.fail = cancel
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel(nil)
	if err := a.load(); err != nil {
		return fmt.Errorf("node agent: %w", err)
	}
	if err := a.serveMetrics(ctx, &running); err != nil {
		return fmt.Errorf("node agent: metrics: %w", err)
	}
	a.startEvents(ctx, &running)
	a.hookQueue = newHookQueue(ctx, a, &running)
	a.trust.start(ctx, &running)
	running.Go(func() { a.keepNode(ctx) })
	err = a.work(ctx, &running)
	if cause := context.Cause(ctx); isOtherAgent(cause) {
		return fmt.Errorf("node agent: %w", cause)
	}
	return err
}

// open creates the directories and locks the root, unless the credential already
// holds the lock.
func (a *Agent) open() (unlock func(), err error) {
	unlock = func() {}
	if a.Volumes != nil && a.State != nil {
		return unlock, nil
	}
	if !a.Credential.hasLock(a.Root) {
		lock, err := lockRoot(Claim{Root: a.Root, Name: a.Name, TakeOver: a.TakeOver})
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

// openRoot creates the directories below the root. The root is locked.
func (a *Agent) openRoot() error {
	if a.Volumes == nil {
		volumes := diskVolumes{dir: filepath.Join(a.Root, "pods"), links: &nameLinks{dir: filepath.Join(a.Root, "by-name")}}
		if err := volumes.open(); err != nil {
			return err
		}
		if err := volumes.links.open(); err != nil {
			// The root may be full. The agent must start all the same, to remove what is gone.
			klog.ErrorS(err, "paths by the names of pods are not available yet", "dir", volumes.links.dir)
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
	a.refuseSecrets = !memory && !a.SecretsOnDisk
	if a.space.limit == 0 {
		a.space.limit = fileSystemSize(a.Root) / namespaceShare
	}
	return nil
}

// podsUsing returns the pods that reference an object.
func (a *Agent) podsUsing(ref Ref) []cache.ObjectName {
	a.mu.Lock()
	defer a.mu.Unlock()
	var pods []cache.ObjectName
	for pod := range a.users[ref] {
		pods = append(pods, pod)
	}
	return pods
}

// enqueueUsers enqueues every pod that references an object.
func (a *Agent) enqueueUsers(ref Ref) {
	for _, pod := range a.podsUsing(ref) {
		a.loop.Add(pod)
	}
}

// getPod returns the pod with this name from the informer. It returns nil if there
// is none, or if the pod is bound to another node.
func (a *Agent) getPod(name cache.ObjectName) (*corev1.Pod, error) {
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
