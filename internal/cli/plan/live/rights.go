package live

import (
	"context"
	"net/http"
	"sync"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"holdfast.dev/holdfast/internal/cli/plan"
)

// may asks the server whether the user has a verb on an object.
func (p *Planner) may(ctx context.Context, in *input, verb string) (bool, error) {
	client, err := p.Factory.KubernetesClientSet()
	if err != nil {
		return false, err
	}
	of := in.info.Mapping.Resource
	review, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: verb, Group: of.Group, Version: of.Version, Resource: of.Resource, Namespace: in.GetNamespace(), Name: in.GetName(),
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return review.Status.Allowed, nil
}

// mays returns may for an object. A verb about which the server does not answer is one that the user does not have, with a note.
func (p *Planner) mays(ctx context.Context, d *draft) func(verb string) bool {
	return func(verb string) bool {
		allowed, err := p.may(ctx, d.in, verb)
		if err != nil {
			d.note("not checked whether you have the right to %s: %v", verb, err)
		}
		return allowed
	}
}

// overrides collects the warnings about changes that a right of the user allows. The others go on to the client.
type overrides struct {
	mu    sync.Mutex
	texts []string
}

// wrap returns a transport of which overrides collects the warnings.
func (o *overrides) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(req)
		if err != nil {
			return resp, err
		}
		var others []string
		for _, header := range resp.Header.Values("Warning") {
			parsed, _ := utilnet.ParseWarningHeaders([]string{header})
			if len(parsed) != 1 || !plan.IsOverride(parsed[0].Text) {
				others = append(others, header)
				continue
			}
			o.mu.Lock()
			o.texts = append(o.texts, parsed[0].Text)
			o.mu.Unlock()
		}
		if len(others) < len(resp.Header.Values("Warning")) {
			resp.Header["Warning"] = others
		}
		return resp, nil
	})
}

// take returns the warnings since the last call.
func (o *overrides) take() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	texts := o.texts
	o.texts = nil
	return texts
}

// roundTripper is a function that sends a request.
type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
