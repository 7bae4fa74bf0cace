package write

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Definition ties a write to the state of the definition by which it is judged.
type Definition interface {
	// Begin returns the context in which the store writes an object only if the definition is still in that state. It waits while the
	// kind is closed for writes; err says that this takes too long. closed says why no object can be created: a server decides whether
	// the definition can be deleted, or it is being deleted.
	Begin(ctx context.Context) (_ context.Context, closed, err error)
	// AwaitChange reports whether an error of the store says that the definition has changed since Begin. It returns when this server
	// has seen the change. replaced means that the write must be judged anew.
	AwaitChange(ctx context.Context, err error) (changed, replaced bool)
	// Written takes note that a write has succeeded.
	Written()
}

// errReplaced says that the definition has changed in a way that may change the decision about the write.
var errReplaced = errors.New("the definition has changed")

// attempts is how often the server tries to write an object while its definition changes.
const attempts = 5

// WhileCurrent calls a function that writes an object of a resource, again if the definition changes at the same time.
func WhileCurrent(
	ctx context.Context, d Definition, resource schema.GroupResource, write func(ctx context.Context, closed error) error,
) error {
	err := whileCurrent(ctx, d, resource, write)
	if errors.Is(err, errReplaced) {
		return unstable(resource)
	}
	return err
}

// whileCurrent is WhileCurrent for a caller that can judge the write anew: the error is then errReplaced.
func whileCurrent(
	ctx context.Context, d Definition, resource schema.GroupResource, write func(ctx context.Context, closed error) error,
) error {
	for range attempts {
		current, closed, err := d.Begin(ctx)
		if err != nil {
			return err
		}
		if err = write(current, closed); err == nil {
			d.Written()
			return nil
		}
		changed, replaced := d.AwaitChange(ctx, err)
		switch {
		case replaced:
			return errReplaced
		case !changed:
			return err
		}
	}
	return unstable(resource)
}

// unstable returns an error with status 503. Clients of Kubernetes send the request again by themselves.
func unstable(resource schema.GroupResource) error {
	err := apierrors.NewServiceUnavailable("the definition of " + resource.String() + " changes; try again")
	err.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: 1}
	return err
}

// anewKey is the key of the number of times that a request was judged anew.
type anewKey struct{}

// judgeAnew answers a request by the changed definition. It reports whether it did so: a request is judged anew a few times at most.
func (e *Endpoint) judgeAnew(w http.ResponseWriter, req *http.Request, body []byte) bool {
	times, _ := req.Context().Value(anewKey{}).(int)
	if times >= attempts {
		return false
	}
	req = req.WithContext(context.WithValue(req.Context(), anewKey{}, times+1))
	req.Body = io.NopCloser(bytes.NewReader(body))
	e.Anew(w, req)
	return true
}
