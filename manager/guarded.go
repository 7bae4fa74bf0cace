package manager

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/operator/api"
)

// Webhooks are the names of both configurations by which the API server asks.
const Webhooks = "kudo-webhook"

// whileGuarded runs something while the API server asks about Instances, and never
// while it does not: whoever may write one could then have its plan run with the
// rights of anybody.
func whileGuarded(ctx context.Context, client kubernetes.Interface, run func(context.Context) error) error {
	states := make(chan bool, 1)
	tell := func(why error) {
		if why != nil {
			klog.InfoS("plans are not run: instances can be written past the webhook", "configuration", Webhooks, "reason", why.Error())
		}
		// Only the last state counts.
		select {
		case <-states:
		default:
		}
		states <- why == nil
	}
	look := func(obj any) {
		if configuration, is := obj.(*admissionregistrationv1.MutatingWebhookConfiguration); is {
			tell(Guards(configuration))
		}
	}
	one := cache.NewListWatchFromClient(client.AdmissionregistrationV1().RESTClient(), "mutatingwebhookconfigurations", "",
		fields.OneTermEqualSelector("metadata.name", Webhooks))
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: one, ObjectType: &admissionregistrationv1.MutatingWebhookConfiguration{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    look,
			UpdateFunc: func(_, obj any) { look(obj) },
			DeleteFunc: func(any) { tell(errors.New("it is not there")) },
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

// Guards says why a configuration lets Instances be written that the webhook has not
// seen; nil if it does not.
func Guards(configuration *admissionregistrationv1.MutatingWebhookConfiguration) error {
	i := slices.IndexFunc(configuration.Webhooks, func(webhook admissionregistrationv1.MutatingWebhook) bool {
		return webhook.Name == "instances."+api.GroupVersion.Group
	})
	if i < 0 {
		return errors.New("it has no webhook for instances")
	}
	webhook := configuration.Webhooks[i]
	switch {
	case webhook.FailurePolicy != nil && *webhook.FailurePolicy != admissionregistrationv1.Fail:
		return fmt.Errorf("failurePolicy is %s", *webhook.FailurePolicy)
	case selects(webhook.NamespaceSelector):
		return errors.New("namespaceSelector leaves namespaces out")
	case selects(webhook.ObjectSelector):
		return errors.New("objectSelector leaves instances out")
	case len(webhook.MatchConditions) > 0:
		return errors.New("matchConditions leave writes out")
	}
	for _, operation := range []admission.Operation{admission.Create, admission.Update} {
		written := admission.NewAttributesRecord(nil, nil, api.GroupVersion.WithKind("Instance"), "any", "any",
			api.GroupVersion.WithResource("instances"), "", operation, nil, false, nil)
		if !slices.ContainsFunc(webhook.Rules, func(rule admissionregistrationv1.RuleWithOperations) bool {
			matcher := rules.Matcher{Rule: rule, Attr: written}
			return matcher.Matches()
		}) {
			return fmt.Errorf("rules leave %s of instances out", operation)
		}
	}
	return nil
}

func selects(selector *metav1.LabelSelector) bool {
	return selector != nil && len(selector.MatchLabels)+len(selector.MatchExpressions) > 0
}
