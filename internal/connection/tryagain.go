package connection

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TryAgain returns the answer to a request that stored nothing, because another request that the server sent for it failed with err.
// If err is that of a server or an etcd that does not answer now, the answer tells the client to send its request again. Every other error is
// an internal one.
func TryAgain(err error, resource schema.GroupResource, operation string) *apierrors.StatusError {
	passes := apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsServiceUnavailable(err) ||
		apierrors.IsTooManyRequests(err) || errors.Is(err, context.DeadlineExceeded)
	if !passes {
		return apierrors.NewInternalError(err)
	}
	answer := apierrors.NewServerTimeout(resource, operation, 1)
	answer.ErrStatus.Message = fmt.Sprintf("nothing was stored, try again: %v", err)
	return answer
}
