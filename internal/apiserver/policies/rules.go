package policies

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/kube-openapi/pkg/common"

	"holdfast.dev/holdfast/internal/broadcast"
	"holdfast.dev/holdfast/internal/policy"
)

// patience is how long a write waits until the table has the rules that the server has learned of.
const patience = 5 * time.Second

// Config configures Rules. All fields but Dir are required.
type Config struct {
	// Dir is the directory with policies in files, empty for none.
	Dir string
	// Models returns the OpenAPI models of the built-in kinds and of CustomResourceDefinitions.
	Models common.GetOpenAPIDefinitions
	// Namespaces are the namespaces of an informer, and Client reads those that the informer does not have yet.
	Namespaces corelisters.NamespaceLister
	Client     kubernetes.Interface
	// Authorizer decides about the rights of users that delete objects.
	Authorizer authorizer.UnconditionalAuthorizer
}

// Rules are the ImmutabilityPolicies of a server.
type Rules struct {
	config Config
	files  *files
	// current is nil until the policies are read.
	current atomic.Pointer[table]
	// updated is sent when current changes.
	updated broadcast.Signal
	// changed has a value if a source has changed.
	changed chan struct{}
	// compiler is nil until the definitions are served.
	compiler atomic.Pointer[policy.Compiler]
	// events records Events. It is nil until the policies are followed.
	events atomic.Pointer[policy.Events]
	// annotated are the rules no-delete of definitions.
	annotated annotated
	// loaded is closed when current has its first value.
	loaded chan struct{}
	load   sync.Once
}

// table is the rules of this server.
type table struct {
	*policy.Table
	// selecting are the selectors of the policies with rules in force.
	selecting []selecting
	// files are the names of the files with policies, by the name of the policy.
	files map[string]string
}

// New returns the rules of a server. It reads the files, and returns an error if one is wrong.
func New(config Config) (*Rules, error) {
	read, err := openFiles(config)
	if err != nil {
		return nil, err
	}
	return &Rules{config: config, files: read, changed: make(chan struct{}, 1), loaded: make(chan struct{})}, nil
}

// Changed tells the rules that a definition has changed. It never blocks.
func (r *Rules) Changed() {
	if r == nil {
		return
	}
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// set replaces the table.
func (r *Rules) set(t *table) {
	r.current.Store(t)
	r.updated.Send()
	r.load.Do(func() { close(r.loaded) })
}

// await waits until the table satisfies a condition, and returns the table.
func (r *Rules) await(ctx context.Context, satisfies func(*table) bool) (*table, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		next := r.updated.Next()
		if t := r.current.Load(); t != nil && satisfies(t) {
			return t, nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return nil, notReady()
		}
	}
}

// notReady is the answer to a write that the server cannot judge yet. Clients send it again.
func notReady() error {
	err := apierrors.NewServiceUnavailable("the server reads the ImmutabilityPolicies")
	err.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: 1}
	return err
}

// labelsOf returns the labels of a namespace.
func (r *Rules) labelsOf(ctx context.Context) func(name string) (labels.Set, error) {
	return func(name string) (labels.Set, error) {
		found, err := r.namespace(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("labels of namespace %s: %w", name, err)
		}
		return found.Labels, nil
	}
}

func (r *Rules) namespace(ctx context.Context, name string) (*corev1.Namespace, error) {
	found, err := r.config.Namespaces.Get(name)
	if apierrors.IsNotFound(err) { // the informer may be behind
		return r.config.Client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
	}
	return found, err
}

// excluded reports whether a policy guards no object of a namespace: only a policy of a file guards those of the control plane.
func (t *table) excluded(policyName, namespace string) bool {
	return t.files[policyName] == "" && slices.Contains(policy.ExcludedNamespaces(), namespace)
}

var errStale = errors.New("the table of rules is older than the definition")
