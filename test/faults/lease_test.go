package faults_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
)

// leaseKey is the key of the Lease of the controllers in etcd.
const leaseKey = "/registry/leases/kube-system/holdfast-controllers"

// leaseHistory records every version of the Lease of the controllers, from a watch of etcd.
type leaseHistory struct {
	watching sync.WaitGroup
	mutex    sync.Mutex
	versions []coordinationv1.LeaseSpec
	next     int64
	problem  error
}

// watchLease records the Lease until ctx ends.
func (c *cluster) watchLease(ctx context.Context, t *testing.T) *leaseHistory {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{
		Endpoints: c.urls(), Logger: zap.NewNop(), DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: 5 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	h := &leaseHistory{next: 1}
	h.watching.Go(func() {
		defer func() { _ = client.Close() }()
		for ctx.Err() == nil && h.problem == nil {
			// A member without a leader ends the watch. Another member then resumes it.
			for changes := range client.Watch(clientv3.WithRequireLeader(ctx), leaseKey, clientv3.WithRev(h.next)) {
				h.problem = h.take(changes)
			}
			time.Sleep(20 * time.Millisecond)
		}
	})
	return h
}

// take records the versions in an answer of a watch.
func (h *leaseHistory) take(changes clientv3.WatchResponse) error {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if changes.CompactRevision > 0 {
		return errors.New("etcd compacted versions of the Lease before the test has seen them")
	}
	for _, event := range changes.Events {
		h.next = event.Kv.ModRevision + 1
		if event.Type == clientv3.EventTypeDelete {
			return errors.New("the Lease was deleted")
		}
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(event.Kv.Value, nil, nil)
		if err != nil {
			return err
		}
		lease, ok := object.(*coordinationv1.Lease)
		if !ok {
			return fmt.Errorf("the Lease is a %T", object)
		}
		h.versions = append(h.versions, lease.Spec)
	}
	return nil
}

// holder returns the present holder of the Lease.
func (h *leaseHistory) holder() string {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if len(h.versions) == 0 {
		return ""
	}
	return ptr.Deref(h.versions[len(h.versions)-1].HolderIdentity, "")
}

// check fails the test if a server took the Lease while another one held it. The watch must have ended.
func (h *leaseHistory) check(t *testing.T) {
	t.Helper()
	h.watching.Wait()
	if h.problem != nil {
		t.Error(h.problem)
	}
	if len(h.versions) == 0 {
		t.Fatal("the Lease was never written")
	}
	for i := range h.versions[1:] {
		if err := checkTakeover(h.versions[i], h.versions[i+1]); err != nil {
			t.Errorf("version %d of the Lease: %v", i+1, err)
		}
	}
	t.Logf("%d versions of the Lease of the controllers, %d changes of its holder",
		len(h.versions), ptr.Deref(h.versions[len(h.versions)-1].LeaseTransitions, 0))
}

// checkTakeover compares two versions of a Lease. Another server may take it when its holder has released
// it, or has not renewed it for its whole duration. All servers have the same clock.
func checkTakeover(before, after coordinationv1.LeaseSpec) error {
	from, to := ptr.Deref(before.HolderIdentity, ""), ptr.Deref(after.HolderIdentity, "")
	if after.RenewTime.Before(before.RenewTime) {
		return fmt.Errorf("%s renewed it at %s, before %s", to, after.RenewTime, before.RenewTime)
	}
	if from == to || from == "" || to == "" {
		return nil
	}
	end := before.RenewTime.Add(time.Duration(ptr.Deref(before.LeaseDurationSeconds, 0)) * time.Second)
	if after.AcquireTime.Time.Before(end) {
		return fmt.Errorf("%s took it at %s, but %s held it until %s", to, after.AcquireTime, from, end)
	}
	if was, is := ptr.Deref(before.LeaseTransitions, 0), ptr.Deref(after.LeaseTransitions, 0); is != was+1 {
		return fmt.Errorf("it has %d transitions after %d", is, was)
	}
	return nil
}
