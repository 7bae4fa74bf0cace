package guard

import (
	"cmp"
	"context"
	"net/http"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/connection"
	"holdfast.dev/holdfast/internal/native/judgement"
	"holdfast.dev/holdfast/internal/othercluster/admissionreview"
	"holdfast.dev/holdfast/ownership"
)

// ImmutablePath is the path of the webhook for immutable fields, before the token.
const ImmutablePath = "/immutable"

// handled are the parts of a guard that answer reviews.
type handled struct {
	rules  *tracker
	events *events
	tokens *tokens
	live   *observed
	meters *meters
	// refusals are those of this replica.
	refusals *refusals
}

// newHandler returns the handler of the webhooks, which reads objects and asks for rights at an API server, and measures
// its answers. It answers only requests with a token.
func newHandler(config Config, server *connection.Connection, in handled) http.Handler {
	read := func(ctx context.Context, in schema.GroupVersionResource, namespace, name string) (*unstructured.Unstructured, error) {
		return server.Dynamic.Resource(in).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	}
	reviews := server.Typed.AuthorizationV1().SubjectAccessReviews()
	mayGet := reviewedReaders(reviews)
	mux := http.NewServeMux()
	fields := &judge{
		resource: in.rules.resource, namespace: in.rules.labelsOf, read: read, mayGet: mayGet, may: reviewedRights(reviews),
		table: in.rules.current.Load, live: in.live,
		status: cmp.Or(config.Status, http.StatusBadRequest), events: in.events, refusals: in.refusals,
	}
	handle := func(path, name string, answer admissionreview.Answer) {
		mux.Handle("POST "+path+"/{token}", in.tokens.required(in.meters, in.meters.measured(name, answer)))
	}
	handle(ImmutablePath, "immutable", fields.answer)
	kept := keeper{
		server: server, live: in.live, rules: in.rules, excluded: wanted{namespaces: config.ExcludeNamespaces}.excludedNamespaces(),
		events: in.events, refusals: in.refusals,
	}
	handle(KeepPath, "keep", kept.answer)
	handle(DeletionWarningsPath, "deletion-warnings", kept.warn)
	handle(HoldersPath, "holders", kept.hold)
	handle(GatePath, "gate", gate{
		server: server, may: reviewedRights(reviews), timeout: cmp.Or(config.ScanTimeout, scanTimeout), events: in.events, refusals: in.refusals,
	}.answer)
	handle(DefinitionsPath, "definitions", earlyGuard{live: in.live, compiler: in.rules.Compiler}.answer)
	mode := cmp.Or(config.Ownership, judgement.EnforceEdit)
	if mode != judgement.Off {
		o := &owners{
			mode: mode, kinds: newKinds(server), read: read, mayGet: mayGet,
			cache: ownership.NewCache(ownershipCacheBytes), notes: judgement.NewNotes(),
		}
		handle(OwnershipPath, "ownership", o.answer)
	}
	return mux
}

// measured returns a handler that answers the reviews of a webhook, and measures the answers.
func (m *meters) measured(webhook string, answer admissionreview.Answer) http.Handler {
	return admissionreview.Handler(func(ctx context.Context, request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		began := time.Now()
		answered := answer(ctx, request)
		m.observe(decided{webhook: webhook, request: request, answer: answered, took: time.Since(began)})
		return answered
	})
}
