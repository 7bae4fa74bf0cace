package lifecycle

import (
	"context"
	"testing"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// storedLease is a Lease in memory.
type storedLease struct {
	resourcelock.Interface
	record resourcelock.LeaderElectionRecord
}

func (s *storedLease) Identity() string { return "this process" }

func (s *storedLease) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record := s.record
	return &record, nil, nil
}

func (s *storedLease) Update(_ context.Context, record resourcelock.LeaderElectionRecord) error {
	s.record = record
	return nil
}

// A leader that reads the Lease of another process stops at once, and does not release that Lease.
func TestTakenLease(t *testing.T) {
	t.Parallel()
	stored, taken := &storedLease{record: resourcelock.LeaderElectionRecord{HolderIdentity: "another process"}}, 0
	lock := &ownLease{Interface: stored, taken: func() { taken++ }}
	read := func(want int, when string) {
		t.Helper()
		if _, _, err := lock.Get(t.Context()); err != nil || taken != want {
			t.Errorf("%s: the Lease was taken %d times, %v, want %d", when, taken, err, want)
		}
	}
	read(0, "before this process holds it")
	if err := lock.Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "this process"}); err != nil {
		t.Fatal(err)
	}
	read(0, "while this process holds it")
	stored.record.HolderIdentity = "another process"
	read(1, "after another process took it")
	if err := lock.Update(t.Context(), resourcelock.LeaderElectionRecord{}); err == nil {
		t.Error("this process released the Lease of another one")
	}
}
