package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	dto "github.com/prometheus/client_model/go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// slowCalls is the part of the calls of a webhook that may be slow, and fewCalls is a number that says nothing.
	slowCalls, fewCalls = 0.05, 10
)

// configured returns the names of the admission webhooks that the server calls, or nil if the user may not list them.
func (s *server) configured(ctx context.Context) map[string]bool {
	names := map[string]bool{}
	registration := s.client.AdmissionregistrationV1()
	validating, err := registration.ValidatingWebhookConfigurations().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil
	}
	for i := range validating.Items {
		for j := range validating.Items[i].Webhooks {
			names[validating.Items[i].Webhooks[j].Name] = true
		}
	}
	mutating, err := registration.MutatingWebhookConfigurations().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil
	}
	for i := range mutating.Items {
		for j := range mutating.Items[i].Webhooks {
			names[mutating.Items[i].Webhooks[j].Name] = true
		}
	}
	return names
}

// webhooks names the admission webhooks that did not answer, or answered slowly. A webhook that is not configured any more harms no
// request; without the list of configured ones, it names all.
func webhooks(families map[string]*dto.MetricFamily, configured map[string]bool) []check {
	failed := map[string]float64{}
	for _, metric := range families["apiserver_admission_webhook_rejection_count"].GetMetric() {
		if label(metric, "error_type") == "calling_webhook_error" {
			failed[label(metric, "name")] += metric.GetCounter().GetValue()
		}
	}
	for _, metric := range families["apiserver_admission_webhook_fail_open_count"].GetMetric() {
		failed[label(metric, "name")] += metric.GetCounter().GetValue()
	}
	calls := map[string]counts{}
	for _, metric := range families["apiserver_admission_webhook_admission_duration_seconds"].GetMetric() {
		name := label(metric, "name")
		calls[name] = calls[name].plus(metric.GetHistogram())
	}
	var found []check
	add := func(name, message, next string) {
		if configured == nil || configured[name] {
			found = append(found, check{"webhooks", warning, name + " " + message, next})
		}
	}
	for name, count := range failed {
		if count > 0 {
			add(name, fmt.Sprintf("did not answer %.0f times since the server started", count),
				"start the server of the webhook, or delete its configuration; the count begins anew when this server restarts")
		}
	}
	for name, c := range calls {
		if c.all >= fewCalls && float64(c.slow) > slowCalls*float64(c.all) {
			add(name, fmt.Sprintf("took longer than a second for %d of %d calls", c.slow, c.all),
				"look at the server of the webhook: each write that matches its rules waits for it; until it is mended, set a shorter "+
					"timeoutSeconds or fewer rules in its configuration")
		}
	}
	slices.SortFunc(found, func(a, b check) int { return cmp.Compare(a.Message, b.Message) })
	return orGood("webhooks", "all calls since the server started were answered in time", found)
}
