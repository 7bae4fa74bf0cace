package etcd_test

import (
	"fmt"
	"slices"
	"testing"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/storage"

	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

// A member without a leader refuses requests. The client then asks the next member. If there is no
// other member, the error says whether the client may send the request again.
func TestMemberWithoutLeader(t *testing.T) {
	t.Parallel()
	servertest.Quiet()
	pair, healthy := servertest.StartEtcdPair(t), servertest.StartEtcd(t, transport.TLSInfo{})
	connect := func(servers ...string) *etcd.Client {
		client, err := etcd.Connect(t.Context(), etcd.Cluster{Servers: servers})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(client.Close)
		return client
	}
	alone := configMaps(t, connect(pair.URL))
	// The members may elect another leader meanwhile.
	waittest.Until(t, "the first object is stored", func() bool {
		err := create(t.Context(), alone, "first")
		return err == nil || storage.IsExist(err)
	})
	pair.LoseLeader(t)

	t.Run("another member has a leader", func(t *testing.T) {
		client := connect(pair.URL, healthy)
		both := configMaps(t, client)
		var want []string
		for i := range 6 {
			want = append(want, fmt.Sprintf("object-%d", i))
			if err := create(t.Context(), both, want[i]); err != nil {
				t.Errorf("create: %v", err)
			}
			if got, err := names(t.Context(), both, 0); err != nil || !slices.Equal(got, want) {
				t.Errorf("list: %q, %v, want %q", got, err, want)
			}
		}
		var leaders []bool
		for _, member := range client.Members(t.Context()) {
			leaders = append(leaders, member.HasLeader)
		}
		if !slices.Equal(leaders, []bool{false, true}) {
			t.Errorf("the members have a leader: %t, want false and true", leaders)
		}
	})
	t.Run("no other member", func(t *testing.T) {
		_, readErr := names(t.Context(), alone, 0)
		for operation, err := range map[string]error{"create": create(t.Context(), alone, "second"), "list": readErr} {
			if wait, ok := apierrors.SuggestsClientDelay(err); !apierrors.IsServerTimeout(err) || !ok || wait != 1 {
				t.Errorf("%s: %v, want a ServerTimeout with a time for the next try", operation, err)
			}
			if want := "etcd is not available: etcdserver: no leader; try again"; err == nil || err.Error() != want {
				t.Errorf("%s: %v, want %s", operation, err, want)
			}
		}
	})
}
