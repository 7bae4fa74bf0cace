package etcd

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage"
)

// A client sends a request again by itself only if the server is sure that nothing was stored.
func TestErrorsOfOutages(t *testing.T) {
	t.Parallel()
	const again, unknown = metav1.StatusReasonServerTimeout, metav1.StatusReasonTimeout
	store := outageStorage{resource: schema.GroupResource{Resource: "configmaps"}}
	for name, test := range map[string]struct {
		err         error
		read, write metav1.StatusReason
	}{
		"no leader":             {rpctypes.ErrNoLeader, again, again},
		"no leader, from gRPC":  {rpctypes.ErrGRPCNoLeader, again, again},
		"too many requests":     {rpctypes.ErrTooManyRequests, again, again},
		"the leader moves":      {status.Error(codes.Unknown, "raft proposal dropped"), again, again},
		"etcd timed out":        {rpctypes.ErrTimeoutDueToLeaderFail, again, unknown},
		"the connection broke":  {status.Error(codes.Unavailable, "error reading from server: EOF"), again, unknown},
		"wrapped":               {fmt.Errorf("list: %w", rpctypes.ErrTimeout), again, unknown},
		"the database is full":  {rpctypes.ErrNoSpace, "", metav1.StatusReasonInternalError},
		"the object is missing": {storage.NewKeyNotFoundError("/registry/configmaps/a", 0), "", ""},
		"the client is gone":    {context.Canceled, "", ""},
		"no error":              {nil, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for operation, got := range map[string]error{"read": store.readError("get", test.err), "write": store.writeError("create", test.err)} {
				want := test.read
				if operation == "write" {
					want = test.write
				}
				if reason := apierrors.ReasonForError(got); reason != want || want == "" && !errors.Is(got, test.err) {
					t.Errorf("%s: %v (%s), want %q", operation, got, reason, want)
				}
				if _, retry := apierrors.SuggestsClientDelay(got); retry != (want == again) {
					t.Errorf("%s: %v tells the client to try again: %t", operation, got, retry)
				}
			}
		})
	}
}
