package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage"

	"holdfast.dev/holdfast/internal/apiserver/stack"
)

// retryAfterSeconds is when a client should send a refused request again. An election takes about
// as long.
const retryAfterSeconds = 1

// outageStorage is a storage with errors that tell a client what an outage of etcd means for its
// request. If nothing was stored, the error is a ServerTimeout with a time for the next try:
// clients of Kubernetes then send the request again by themselves. If a write may be stored, the
// error is a Timeout without such a time, because a second create could make a second object.
type outageStorage struct {
	storage.Interface
	resource schema.GroupResource
}

// Create implements storage.Interface.
func (s outageStorage) Create(ctx context.Context, key string, obj, out runtime.Object, ttl uint64) error {
	return s.writeError("create", s.Interface.Create(ctx, key, obj, out, ttl))
}

// Delete implements storage.Interface.
func (s outageStorage) Delete(ctx context.Context, key string, out runtime.Object, preconditions *storage.Preconditions,
	validate storage.ValidateObjectFunc, cached runtime.Object, options storage.DeleteOptions,
) error {
	return s.writeError("delete", s.Interface.Delete(ctx, key, out, preconditions, validate, cached, options))
}

// GuaranteedUpdate implements storage.Interface.
func (s outageStorage) GuaranteedUpdate(ctx context.Context, key string, destination runtime.Object, ignoreNotFound bool,
	preconditions *storage.Preconditions, update storage.UpdateFunc, cached runtime.Object,
) error {
	// The library calls this at the start of a goroutine of its own, and runs field managers, admission and validation inside of it.
	stack.Grow(stack.Deep)
	return s.writeError("update",
		s.Interface.GuaranteedUpdate(ctx, key, destination, ignoreNotFound, preconditions, update, cached))
}

// Get implements storage.Interface.
func (s outageStorage) Get(ctx context.Context, key string, options storage.GetOptions, out runtime.Object) error {
	return s.readError("get", s.Interface.Get(ctx, key, options, out))
}

// GetList implements storage.Interface.
func (s outageStorage) GetList(ctx context.Context, key string, options storage.ListOptions, list runtime.Object) error {
	return s.readError("list", s.Interface.GetList(ctx, key, options, list))
}

// GetCurrentResourceVersion implements storage.Interface.
func (s outageStorage) GetCurrentResourceVersion(ctx context.Context) (uint64, error) {
	version, err := s.Interface.GetCurrentResourceVersion(ctx)
	return version, s.readError("get", err)
}

// readError translates the error of a read.
func (s outageStorage) readError(operation string, err error) error {
	if !isRefused(err) && !isUnavailable(err) {
		return err
	}
	answer := apierrors.NewServerTimeout(s.resource, operation, retryAfterSeconds)
	answer.ErrStatus.Message = fmt.Sprintf("etcd is not available: %v; try again", err)
	return answer
}

// errFull is the error of a write to a database that is full. etcd stores the write with which it becomes full, and refuses it.
var errFull = errors.New("the database of etcd is full: delete objects that are not needed; holdfast doctor says more; " +
	"this write may be stored or not")

// writeError translates the error of a write.
func (s outageStorage) writeError(operation string, err error) error {
	if err != nil && errors.Is(rpctypes.Error(err), rpctypes.ErrNoSpace) {
		return apierrors.NewInternalError(fmt.Errorf("%w: %w", errFull, err))
	}
	if !isUnavailable(err) || isRefused(err) {
		return s.readError(operation, err)
	}
	return apierrors.NewTimeoutError(fmt.Sprintf(
		"etcd did not confirm the %s of %s: %v; it may be stored or not: read the object, then try again", operation, s.resource, err), 0)
}

// IsOutage reports whether a request failed because of the members or the network, and not because of its content.
func IsOutage(err error) bool {
	return isRefused(err) || isUnavailable(err)
}

// isRefused reports whether a member refused a request before it handled it.
func isRefused(err error) bool {
	return err != nil && (hasNoLeader(err) || isDropped(err) || errors.Is(rpctypes.Error(err), rpctypes.ErrTooManyRequests))
}

// isDropped reports whether a member dropped a write while the leader moved. etcd has no error of its own for
// this, and sends that of its library.
func isDropped(err error) bool {
	return status.Code(err) == codes.Unknown && strings.Contains(err.Error(), "raft proposal dropped")
}

// isUnavailable reports whether a request failed because of the members or the network. etcd may
// have stored it.
func isUnavailable(err error) bool {
	var known rpctypes.EtcdError
	if errors.As(err, &known) {
		return known.Code() == codes.Unavailable
	}
	return err != nil && status.Code(err) == codes.Unavailable
}
