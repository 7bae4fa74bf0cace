package manager

import (
	"context"
	"sync"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// Webhooks are the names of both configurations by which the API server asks.
const Webhooks = "kudo-webhook"

// whileGuarded runs something while the API server asks about Instances, and never
// while it does not: whoever may write one could then have its plan run with the
// rights of anybody.
func whileGuarded(ctx context.Context, client kubernetes.Interface, run func(context.Context) error) error {
	states := make(chan bool, 1)
	// Only the last state counts.
	tell := func(guarded bool) {
		select {
		case <-states:
		default:
		}
		states <- guarded
	}
	one := cache.NewListWatchFromClient(client.AdmissionregistrationV1().RESTClient(), "mutatingwebhookconfigurations", "",
		fields.OneTermEqualSelector("metadata.name", Webhooks))
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: one, ObjectType: &admissionregistrationv1.MutatingWebhookConfiguration{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(obj any) { tell(guards(obj)) },
			UpdateFunc: func(_, obj any) { tell(guards(obj)) },
			DeleteFunc: func(any) { tell(false) },
		},
	})
	var watching sync.WaitGroup
	defer watching.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watching.Go(func() { informer.RunWithContext(ctx) })

	for {
		select {
		case <-ctx.Done():
			return nil
		case guarded := <-states:
			if !guarded {
				continue
			}
		}
		if err := untilUnguarded(ctx, states, run); err != nil {
			return err
		}
		if ctx.Err() == nil {
			klog.InfoS("plans are not run: no webhook guards instances", "configuration", Webhooks)
		}
	}
}

// untilUnguarded runs something until it ends, or the guard does.
func untilUnguarded(ctx context.Context, states <-chan bool, run func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	for {
		select {
		case err := <-ended:
			return err
		case guarded := <-states:
			if !guarded {
				cancel()
				return <-ended
			}
		}
	}
}

// guards says that nothing is written past the webhook of Instances.
func guards(obj any) bool {
	configuration, isConfiguration := obj.(*admissionregistrationv1.MutatingWebhookConfiguration)
	if !isConfiguration {
		return false
	}
	for _, webhook := range configuration.Webhooks {
		if webhook.Name == "instances.kudo.dev" {
			return webhook.FailurePolicy != nil && *webhook.FailurePolicy == admissionregistrationv1.Fail
		}
	}
	return false
}
