package guard

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/internal/broadcast"
	"holdfast.dev/holdfast/internal/othercluster/webhook"
)

// configuration is the webhook configuration of the API server.
type configuration = admissionregistrationv1.ValidatingWebhookConfiguration

// observed follows the webhook configuration of the API server.
type observed struct {
	client kubernetes.Interface

	mu sync.Mutex
	// current is the configuration, empty if there is none. known is false until it was first read.
	current *configuration
	known   bool
	// changed is sent when current changes.
	changed broadcast.Signal
}

func newObserved(client kubernetes.Interface) *observed {
	return &observed{client: client, current: &configuration{}}
}

// run watches the configuration until ctx ends.
func (o *observed) run(ctx context.Context) {
	one := cache.NewFilteredListWatchFromClient(o.client.AdmissionregistrationV1().RESTClient(), "validatingwebhookconfigurations", "",
		func(options *metav1.ListOptions) {
			options.FieldSelector = fields.OneTermEqualSelector("metadata.name", Name).String()
			fresh(options)
		})
	set := func(obj any) {
		if found, ok := obj.(*configuration); ok {
			o.set(found)
		}
	}
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: one, ObjectType: &configuration{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc: set, UpdateFunc: func(_, obj any) { set(obj) }, DeleteFunc: func(any) { o.set(&configuration{}) },
		},
	})
	var first sync.WaitGroup
	defer first.Wait()
	first.Go(func() {
		if cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.known = true
			o.changed.Send()
		}
	})
	informer.RunWithContext(ctx)
}

func (o *observed) set(found *configuration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.current, o.known = found, true
	o.changed.Send()
}

// latest returns the configuration, whether it was read, and a channel that is closed when it changes.
func (o *observed) latest() (current *configuration, known bool, next <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.current, o.known, o.changed.Next()
}

// covers reports whether a configuration has an endpoint of a resource, such as widgets/scale, with the operation and in the versions of
// a rule.
func covers(in *configuration, rule admissionregistrationv1.RuleWithOperations, name string) bool {
	return slices.ContainsFunc(in.Webhooks, func(w admissionregistrationv1.ValidatingWebhook) bool {
		return slices.ContainsFunc(w.Rules, func(r admissionregistrationv1.RuleWithOperations) bool {
			return slices.Contains(r.Operations, rule.Operations[0]) && slices.Contains(r.APIGroups, rule.APIGroups[0]) &&
				slices.Equal(r.APIVersions, rule.APIVersions) && slices.Contains(r.Resources, name)
		})
	})
}

// coversRules reports whether a configuration has all resources of rules.
func coversRules(in *configuration, rules []admissionregistrationv1.RuleWithOperations) bool {
	return !slices.ContainsFunc(rules, func(rule admissionregistrationv1.RuleWithOperations) bool {
		return slices.ContainsFunc(rule.Resources, func(name string) bool { return !covers(in, rule, name) })
	})
}

// readiness decides whether the guard does its work.
type readiness struct {
	rules *tracker
	live  *observed
	keys  webhook.Keys
}

// check returns why the API server cannot ask this replica although there are rules. A configuration that lacks only some resources
// is no reason: a Service sends no reviews to a pod that is not ready, so the updates of the others would fail.
func (r readiness) check() error {
	found, known, _ := r.live.latest()
	needed := ""
	if current := r.rules.current.Load(); len(current.Resources) > 0 {
		needed = ImmutableWebhook
	} else if kept := enforced(current); len(kept) > 0 {
		needed = kept[0].webhook(NoDeleteWebhook)
	}
	if !known || needed == "" {
		return nil
	}
	at := slices.IndexFunc(found.Webhooks, func(w admissionregistrationv1.ValidatingWebhook) bool { return w.Name == needed })
	if at < 0 {
		return fmt.Errorf("the webhook configuration %s does not have %s: nothing is guarded", Name, needed)
	}
	pair, err := r.keys.Certificate(nil)
	if err != nil {
		return err
	}
	if bundle := found.Webhooks[at].ClientConfig.CABundle; !webhook.Accepts(bundle, pair, time.Now()) {
		return fmt.Errorf("the webhook configuration %s does not accept the certificate of this replica", Name)
	}
	return nil
}
