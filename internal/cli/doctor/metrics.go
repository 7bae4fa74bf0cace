package doctor

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

const (
	// slow is the duration above which a request is slow, a bound of a bucket of the metric.
	slow = 1.0
	// slowShare is the part of requests that may be slow, and fewRequests is a number that says nothing.
	slowShare, fewRequests = 0.01, 100
)

// requests judges the metrics of the server about requests and webhooks since its start.
func (s *server) requests(ctx context.Context) []check {
	families, err := s.metrics(ctx)
	if err != nil {
		return []check{unread("requests", err)}
	}
	all := append(webhooks(families, s.configured(ctx)), slowRequests(families["apiserver_request_duration_seconds"])...)
	return append(all, caches(families)...)
}

// metrics reads the metrics of the server.
func (s *server) metrics(ctx context.Context) (map[string]*dto.MetricFamily, error) {
	text, err := s.client.Discovery().RESTClient().Get().AbsPath("/metrics").Do(ctx).Raw()
	if err != nil {
		return nil, err
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("the metrics of the server: %w", err)
	}
	return families, nil
}

// slowRequests names the requests of which too many were slow.
func slowRequests(family *dto.MetricFamily) []check {
	byRequest := map[string]counts{}
	for _, metric := range family.GetMetric() {
		verb := label(metric, "verb")
		// These last as long as the client wants.
		if verb == "WATCH" || verb == "CONNECT" || verb == "PROXY" {
			continue
		}
		key := verb + " " + label(metric, "resource")
		byRequest[key] = byRequest[key].plus(metric.GetHistogram())
	}
	var found []check
	all := uint64(0)
	for request, c := range byRequest {
		all += c.all
		if c.all >= fewRequests && float64(c.slow) > slowShare*float64(c.all) {
			found = append(found, check{
				"requests", warning, fmt.Sprintf("%d of %d requests %s took longer than a second", c.slow, c.all, request),
				"look for a slow disk, slow webhooks, or clients that list too often: docs/reliability.md",
			})
		}
	}
	slices.SortFunc(found, func(a, b check) int { return bytes.Compare([]byte(a.Message), []byte(b.Message)) })
	return orGood("requests", fmt.Sprintf("%d since the server started; of no kind, more than 1%% took longer than a second", all), found)
}

// counts has the number of requests, and of those that were slow.
type counts struct{ all, slow uint64 }

// plus adds the requests of a histogram.
func (c counts) plus(histogram *dto.Histogram) counts {
	fast := uint64(0)
	for _, bucket := range histogram.GetBucket() {
		if bucket.GetUpperBound() <= slow {
			fast = max(fast, bucket.GetCumulativeCount())
		}
	}
	return counts{c.all + histogram.GetSampleCount(), c.slow + histogram.GetSampleCount() - fast}
}

func label(metric *dto.Metric, name string) string {
	for _, pair := range metric.GetLabel() {
		if pair.GetName() == name {
			return pair.GetValue()
		}
	}
	return ""
}
