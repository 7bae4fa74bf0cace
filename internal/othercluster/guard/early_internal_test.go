package guard

import (
	"context"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
)

// TestEnsureLooksAgain removes a webhook while a review waits until the API servers know it, as a leader does that takes the definition of before for
// the new one. The review adds the webhook again.
func TestEnsureLooksAgain(t *testing.T) {
	t.Parallel()
	o, added := newObserved(nil), 0
	with := &configuration{Webhooks: []admissionregistrationv1.ValidatingWebhook{{Name: "early"}}}
	looked := make(chan struct{}, 1)
	done := make(chan error, 1)
	go func() {
		done <- o.ensure(t.Context(), func(in *configuration) bool {
			if len(in.Webhooks) > 0 && added == 1 {
				looked <- struct{}{}
			}
			return len(in.Webhooks) > 0
		}, func(*configuration) error {
			added++
			o.set(with)
			return nil
		})
	}()
	<-looked
	o.set(&configuration{})
	if err := <-done; err != nil || added != 2 {
		t.Errorf("the webhook was added %d times, %v", added, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := o.ensure(ctx, func(*configuration) bool { return false }, func(*configuration) error { return nil }); err == nil {
		t.Error("a review whose request has ended goes on")
	}
}
