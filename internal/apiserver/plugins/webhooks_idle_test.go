package plugins

import (
	"context"
	"errors"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	admissionlisters "k8s.io/client-go/listers/admissionregistration/v1"
	"k8s.io/client-go/tools/cache"
)

var errCalled = errors.New("called")

// refusing refuses every write.
type refusing struct{ *admission.Handler }

// Admit implements admission.MutationInterface.
func (refusing) Admit(context.Context, admission.Attributes, admission.ObjectInterfaces) error {
	return errCalled
}

// The server calls the plugin of mutating webhooks unless it knows that there is no webhook.
func TestIdleWebhooks(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		synced   bool
		webhooks []string
		want     error
	}{
		"not synced":  {want: errCalled},
		"no webhook":  {synced: true},
		"one webhook": {synced: true, webhooks: []string{"a"}, want: errCalled},
	}
	for title, test := range tests {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
			for _, name := range test.webhooks {
				webhook := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: name}}
				if err := store.Add(webhook); err != nil {
					t.Fatal(err)
				}
			}
			plugin := idleWebhooks{
				MutationInterface: refusing{admission.NewHandler(admission.Create)},
				configurations:    admissionlisters.NewMutatingWebhookConfigurationLister(store),
				synced:            func() bool { return test.synced },
			}
			if err := plugin.Admit(t.Context(), nil, nil); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}
