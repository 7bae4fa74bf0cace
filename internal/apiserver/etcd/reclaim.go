package etcd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/failpoint"
)

const (
	// reclaimShare is the part of its quota that the data may have for reclaim to make the file smaller and to clear the alarm. With
	// less room, the next writes would fill the database again.
	reclaimShare = 0.8
	// reclaimPause is how many times as long as a defragmentation the pause before the next one is. All requests wait during a
	// defragmentation.
	reclaimPause = 10
)

// fullDatabase is what a member remembers while its database is full.
type fullDatabase struct {
	// defragmentAfter is the earliest time of the next defragmentation.
	defragmentAfter time.Time
}

// reclaim lets a member store objects again after its database was full. etcd then has an alarm and refuses all writes except
// deletions, until an administrator compacts the history, defragments the database and clears the alarm. A member in the process has
// no port for that, so it does all three itself, at once and after deletions. Watches that resume from an older version list again.
func (m *Member) reclaim(ctx context.Context) {
	if !slices.ContainsFunc(m.etcd.Server.Alarms(), isFull) {
		m.full = nil
		return
	}
	if m.full == nil {
		m.full = &fullDatabase{}
		klog.ErrorS(nil, "the database of etcd is full: delete objects that are not needed", "quotaBytes", m.quota)
	}
	room, err := m.makeRoom(ctx)
	if err == nil && room {
		err = m.clearAlarm(ctx)
	}
	switch {
	case ctx.Err() != nil:
	case err != nil:
		klog.ErrorS(err, "the database of etcd is full, and its alarm stays")
	case room:
		klog.InfoS("the database of etcd has room again: the alarm is cleared", "sizeBytes", m.etcd.Server.Backend().Size())
	}
}

// makeRoom removes all history, and returns free pages to the file system if that makes enough room. It reports whether there is
// enough.
func (m *Member) makeRoom(ctx context.Context) (bool, error) {
	server := m.etcd.Server
	ctx, cancel := context.WithTimeout(ctx, compactTimeout)
	defer cancel()
	_, err := server.Compact(ctx, &pb.CompactionRequest{Revision: server.KV().Rev(), Physical: true})
	if err != nil && !errors.Is(err, mvcc.ErrCompacted) {
		return false, fmt.Errorf("compact: %w", err)
	}
	if err := failpoint.Fail("etcd:fullCompacted"); err != nil {
		return false, err
	}
	enough := int64(reclaimShare * float64(m.quota))
	if server.Backend().Size() <= enough {
		return true, nil
	}
	// etcd counts the pages of removed data as free after its next commits. Until then, the next call finds them.
	if begin := time.Now(); server.Backend().SizeInUse() <= enough && begin.After(m.full.defragmentAfter) {
		err := server.Defragment()
		m.full.defragmentAfter = time.Now().Add(reclaimPause * time.Since(begin))
		if err != nil {
			return false, fmt.Errorf("defragment: %w", err)
		}
		if err := failpoint.Fail("etcd:fullDefragmented"); err != nil {
			return false, err
		}
	}
	return server.Backend().Size() <= enough, nil
}

// clearAlarm clears the alarm of a full database. etcd clears the alarms of one member for each request.
func (m *Member) clearAlarm(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, compactTimeout)
	defer cancel()
	for _, alarm := range m.etcd.Server.Alarms() {
		if !isFull(alarm) {
			continue
		}
		request := &pb.AlarmRequest{Action: pb.AlarmRequest_DEACTIVATE, MemberID: alarm.MemberID, Alarm: alarm.Alarm}
		if _, err := m.etcd.Server.Alarm(ctx, request); err != nil {
			return fmt.Errorf("clear the alarm: %w", err)
		}
		failpoint.Reach("etcd:fullCleared")
	}
	return nil
}

func isFull(alarm *pb.AlarmMember) bool { return alarm.Alarm == pb.AlarmType_NOSPACE }
