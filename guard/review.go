package guard

import (
	"context"
	"net/http"
	"time"

	admissionv1 "k8s.io/api/admission/v1"

	"holdfast.dev/holdfast/admissionreview"
)

// ImmutablePath is the path of the webhook for immutable fields.
const ImmutablePath = "/immutable"

// handler answers reviews and measures the answers.
func (j *judge) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST "+ImmutablePath, admissionreview.Handler(
		func(ctx context.Context, request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
			began := time.Now()
			answer := j.answer(ctx, request)
			j.meters.observe(request, answer, time.Since(began))
			return answer
		}))
	return mux
}
