package exchange

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// create creates the new object, or the old one if the server has refused the new one.
func (r *run) create(ctx context.Context) (step, error) {
	object := r.entry.New
	if r.entry.Refusal != "" {
		if !r.restores {
			return retry, r.unrestored(errors.New(r.entry.Refusal))
		}
		object = r.entry.Old
	}
	created, err := r.client(r.entry.Resource, object.GetNamespace()).Create(ctx, object, metav1.CreateOptions{FieldManager: r.entry.FieldManager})
	switch {
	case err == nil:
		r.made = created.GetUID()
		if !r.seen.IsZero() {
			r.result.Absent = max(time.Since(r.seen).Round(time.Millisecond), time.Millisecond)
		}
		return advance, nil
	case apierrors.IsAlreadyExists(err), !isAnswer(err):
		return retry, r.again(err)
	case !isRefusal(err) && time.Now().Before(r.deadline):
		// A quota counts the old object for a while, and a webhook may be starting.
		return retry, nil
	case r.entry.Refusal != "":
		return retry, r.lost(err)
	}
	if !r.restores {
		return retry, r.unrestored(err)
	}
	if err := r.remember(ctx, r.entry, err); err != nil {
		return retry, r.again(err)
	}
	return advance, nil
}

// unrestored is the error if the server refuses the new object, and the user has not said that the old one of the journal may be created.
func (r *run) unrestored(refusal error) error {
	at := r.entry.Stored
	return fmt.Errorf("the server refused the new object after an earlier run has deleted the old one: %w. The journal, the Secret %s/%s, has the old "+
		"object: look at it with kubectl get secret %s -n %s -o jsonpath='{.data.old}' | base64 -d, and create it again with --resume --yes",
		refusal, at.Namespace, at.Name, at.Name, at.Namespace)
}

// lost is the error if the server takes neither object. The journal has both.
func (r *run) lost(err error) error {
	at := r.entry.Stored
	return fmt.Errorf("the server refused the new object after the old one was deleted: %s. It refuses to create the old one again too: %w. "+
		"No object is stored now. The journal, the Secret %s/%s, has both: remove the cause and run the same command again, or create the one or "+
		"the other with kubectl get secret %s -n %s -o jsonpath='{.data.old}' (or .data.new) | base64 -d | kubectl create -f -",
		r.entry.Refusal, err, at.Namespace, at.Name, at.Name, at.Namespace)
}

// isAnswer reports whether an error is an answer of the server about a request, and not about the connection, the credential or the load.
func isAnswer(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	switch status.Status().Code {
	case http.StatusUnauthorized, http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return false
	}
	return true
}

// isRefusal reports whether an error is an answer that stays the same if the request is sent again. A server that starts may answer 404 for
// kinds that it does not know yet.
func isRefusal(err error) bool {
	var status apierrors.APIStatus
	if !isAnswer(err) || !errors.As(err, &status) || isQuota(err) {
		return false
	}
	switch code := status.Status().Code; code {
	case http.StatusNotFound, http.StatusConflict:
		return false
	default:
		return code >= http.StatusBadRequest && code < http.StatusInternalServerError
	}
}
