package rbac

import (
	"context"
	"fmt"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	rbacinformers "k8s.io/client-go/informers/rbac/v1"
	rbacclient "k8s.io/client-go/kubernetes/typed/rbac/v1"
	rbaclisters "k8s.io/client-go/listers/rbac/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/reconcile"
)

const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = 30 * time.Second
)

// AggregationManager is the field manager of the controller that aggregates ClusterRoles, here and in kube-controller-manager.
const AggregationManager = "clusterrole-aggregation-controller"

// Aggregation is the controller that computes the rules of ClusterRoles with an
// aggregationRule.
type Aggregation struct {
	client rbacclient.ClusterRolesGetter
	roles  rbaclisters.ClusterRoleLister
	synced cache.InformerSynced
	loop   *reconcile.Loop[string]
}

// NewAggregation returns a controller that reads ClusterRoles from the informer
// and updates them with the client. Call it before the informer's factory starts.
// Run may be called once.
func NewAggregation(client rbacclient.ClusterRolesGetter, informer rbacinformers.ClusterRoleInformer) (*Aggregation, error) {
	c := &Aggregation{client: client, roles: informer.Lister()}
	c.loop = reconcile.New(reconcile.Config[string]{
		Reconcile: c.reconcile, Log: logRetry, FirstRetry: firstRetry, LastRetry: lastRetry,
	})
	registration, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { c.enqueue() },
		UpdateFunc: func(_, _ any) { c.enqueue() },
		DeleteFunc: func(any) { c.enqueue() },
	})
	if err != nil {
		return nil, fmt.Errorf("watch cluster roles: %w", err)
	}
	c.synced = registration.HasSynced
	return c, nil
}

// enqueue enqueues every ClusterRole that has an aggregationRule. It does not try to
// find the roles that a change affects: a change of labels also affects the roles that
// selected the old labels. A cluster has only a few roles with an aggregationRule.
func (c *Aggregation) enqueue() {
	roles, err := c.roles.List(labels.Everything())
	if err != nil {
		return // a lister that reads an informer's cache never fails
	}
	for _, role := range roles {
		if role.AggregationRule != nil {
			c.loop.Add(role.Name)
		}
	}
}

// Run aggregates rules until ctx ends. It returns when its worker has ended.
func (c *Aggregation) Run(ctx context.Context) { c.loop.Run(ctx, c.synced) }

func (c *Aggregation) reconcile(ctx context.Context, name string) (reconcile.Result, error) {
	return reconcile.Result{}, c.update(ctx, name)
}

func logRetry(_ context.Context, name string, err error) {
	klog.ErrorS(err, "rules are not aggregated, will be tried again", "clusterRole", name)
}

// update updates the ClusterRole if its rules differ from the aggregated ones.
func (c *Aggregation) update(ctx context.Context, name string) error {
	role, err := c.roles.Get(name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	others, err := c.roles.List(labels.Everything())
	if err != nil {
		return err
	}
	rules, err := Aggregate(role, others)
	if err != nil {
		return err
	}
	if role.AggregationRule == nil || apiequality.Semantic.DeepEqual(rules, role.Rules) {
		return nil
	}
	changed := &rbacv1.ClusterRole{}
	role.DeepCopyInto(changed)
	changed.Rules = rules
	_, err = c.client.ClusterRoles().Update(ctx, changed, metav1.UpdateOptions{FieldManager: AggregationManager})
	return err
}
