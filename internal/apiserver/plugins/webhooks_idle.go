package plugins

import (
	"context"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/admission"
	mutatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
	admissionlisters "k8s.io/client-go/listers/admissionregistration/v1"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/internal/apiserver/start"
)

// idleWebhooks does not call the plugin of mutating webhooks while there is no webhook. The
// plugin copies the whole object of every write, to see later whether other plugins changed it.
type idleWebhooks struct {
	admission.MutationInterface
	configurations admissionlisters.MutatingWebhookConfigurationLister
	synced         cache.InformerSynced
}

// Admit implements admission.MutationInterface.
func (w idleWebhooks) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	if w.isIdle() {
		return nil
	}
	return w.MutationInterface.Admit(ctx, a, o)
}

// isIdle reports whether there is no webhook. It uses the informer of the plugin itself. Until
// the informer has read all webhooks, the plugin refuses the write or waits.
func (w idleWebhooks) isIdle() bool {
	if !w.synced() {
		return false
	}
	found, err := w.configurations.List(labels.Everything())
	return err == nil && len(found) == 0
}

// withIdleWebhooks returns a decorator that puts idleWebhooks around the plugin.
func withIdleWebhooks(c *start.Clients) admission.Decorator {
	return admission.DecoratorFunc(func(handler admission.Interface, name string) admission.Interface {
		mutation, ok := handler.(admission.MutationInterface)
		if name != mutatingwebhook.PluginName || !ok {
			return handler
		}
		webhooks := c.Informers.Admissionregistration().V1().MutatingWebhookConfigurations()
		return idleWebhooks{MutationInterface: mutation, configurations: webhooks.Lister(), synced: webhooks.Informer().HasSynced}
	})
}
