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

	"holdfast.dev/holdfast/api"
)

// Webhooks is the name of both webhook configurations.
const Webhooks = "kudo-webhook"

// whileCovered calls run when the API server sends every write of an Instance to the mutating
// webhook, and cancels run when the API server no longer does. Without the webhook, a user
// that may write Instances could change immutable parameters. Such a user could not forge
// the requester of a plan, because the webhook seals the record of the requester.
func whileCovered(ctx context.Context, client kubernetes.Interface, run func(context.Context) error) error {
	states := make(chan bool, 1)
	publish := func(gap error) {
		if gap != nil {
			klog.InfoS("plans are not run: instances can be written past the webhook",
				"configuration", Webhooks, "reason", gap.Error())
		}
		// Only the latest state counts, so an unread one is dropped.
		select {
		case <-states:
		default:
		}
		states <- gap == nil
	}
	check := func(obj any) {
		if configuration, is := obj.(*admissionregistrationv1.MutatingWebhookConfiguration); is {
			publish(CheckCoverage(configuration))
		}
	}
	one := cache.NewListWatchFromClient(client.AdmissionregistrationV1().RESTClient(), "mutatingwebhookconfigurations", "",
		fields.OneTermEqualSelector("metadata.name", Webhooks))
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: one, ObjectType: &admissionregistrationv1.MutatingWebhookConfiguration{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    check,
			UpdateFunc: func(_, obj any) { check(obj) },
			DeleteFunc: func(any) { publish(errors.New("the configuration does not exist")) },
		},
	})
	var watch sync.WaitGroup
	defer watch.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watch.Go(func() { informer.RunWithContext(ctx) })

	for {
		select {
		case <-ctx.Done():
			return nil
		case covered := <-states:
			if !covered {
				continue
			}
		}
		if err := untilUncovered(ctx, states, run); err != nil {
			return err
		}
	}
}

// untilUncovered calls run and waits until it returns. It cancels run when it receives false.
func untilUncovered(ctx context.Context, states <-chan bool, run func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	for {
		select {
		case err := <-ended:
			return err
		case covered := <-states:
			if !covered {
				cancel()
				return <-ended
			}
		}
	}
}

// CheckCoverage returns an error if a webhook configuration lets any create or update of an
// Instance bypass the webhook. The error names the field that allows this.
func CheckCoverage(configuration *admissionregistrationv1.MutatingWebhookConfiguration) error {
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

// selects reports whether a selector excludes anything.
func selects(selector *metav1.LabelSelector) bool {
	return selector != nil && len(selector.MatchLabels)+len(selector.MatchExpressions) > 0
}
