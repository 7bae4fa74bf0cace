package faults_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"holdfast.dev/holdfast/internal/waittest"
)

// Two servers use an etcd cluster of three members. While any one part is broken, writes go on, and the
// answers about each object are linearizable. After an error, a client may try again. Without a majority
// of the members, writes fail with such an error. One server at a time runs the controllers.
func TestOutages(t *testing.T) {
	t.Parallel()
	s := newSeed(t)
	etcd := startCluster(t, 3)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	lease := etcd.watchLease(ctx, t)
	servers := etcd.servers(t, 2)
	h := newHistory(t, servers[0].client.Load())
	h.pause = either(10*time.Millisecond, 50*time.Millisecond)
	wait := h.run(ctx, s, servers...)
	leaders := watchLeaders(ctx, servers)
	system := &system{t: t, cluster: etcd, servers: servers, history: h, lease: lease, random: s.random("outages")}
	for range rounds(t, 1, 3) {
		outages := system.outages()
		for _, i := range system.random.Perm(len(outages)) {
			h.progress(t, 5+system.random.IntN(20))
			system.run(outages[i])
		}
	}
	h.progress(t, 20)
	stop()
	wait()
	h.readAll(t, servers)
	leaders.check(t)
	lease.check(t)
	h.check(t, perObject())
	h.checkErrors(t)
}

// system is an etcd cluster with API servers and their clients.
type system struct {
	t       *testing.T
	cluster *cluster
	servers []*server
	history *history
	lease   *leaseHistory
	random  *rand.Rand
}

// outage is a fault of some parts of a system.
type outage struct {
	name string
	// begin breaks the parts, and returns the function that repairs them.
	begin func() (end func())
	// during waits for what must happen while the parts are broken.
	during func()
}

func (s *system) outages() []outage {
	return []outage{
		{"one member killed", s.killMember, s.writesGoOn},
		{"one member paused", s.pauseMember, s.everyRequestIsAnswered},
		{"leader cut off", s.cutOffLeader, s.writesGoOn},
		{"follower cut off", s.cutOffFollower, s.serverStarts},
		{"leader moved", s.moveLeader, s.writesGoOn},
		{"majority killed", s.killMajority, s.writesFailClearly},
		{"one server killed", s.killServer, s.writesGoOn},
		{"one server paused", s.pauseServer, s.anotherServerLeads},
	}
}

// run breaks parts of a whole system, waits, and repairs them.
func (s *system) run(o outage) {
	s.t.Helper()
	s.cluster.leader(s.t)
	begin := time.Now()
	end := o.begin()
	o.during()
	s.t.Logf("%s for %s", o.name, time.Since(begin).Round(10*time.Millisecond))
	end()
}

// writesGoOn waits for acknowledged writes.
func (s *system) writesGoOn() { s.history.progress(s.t, either(10, 100)) }

// serverStarts waits for writes. In the long form, a server also starts while the parts are broken.
func (s *system) serverStarts() {
	s.t.Helper()
	if long() {
		s.killServer()()
	}
	s.writesGoOn()
}

// everyRequestIsAnswered waits until the servers send no more requests to a member that does not answer.
// The short form waits for writes only: the clients of a busy machine may get no answer for other reasons.
func (s *system) everyRequestIsAnswered() {
	s.t.Helper()
	begin := time.Now()
	s.writesGoOn()
	if !long() {
		return
	}
	const keepalive, busy = 15 * time.Second, 10 * time.Second
	waittest.Until(s.t, "no request fails any more", func() error {
		if quiet := time.Since(s.history.lastFailure()); quiet < requestTimeout()+time.Second {
			return errors.New("requests still fail")
		}
		return nil
	})
	took := max(0, s.history.lastFailure().Sub(begin)) // 0 if no request waited for the member
	s.t.Logf("one member paused: the last request without an answer ended after %s", took.Round(100*time.Millisecond))
	if took > keepalive+requestTimeout()+busy {
		s.t.Errorf("the servers sent requests to a paused member for %s", took)
	}
}

// writesFailClearly waits for writes that fail with an error after which clients try again.
func (s *system) writesFailClearly() { s.history.refusals(s.t, either(3, 20)) }

// anotherServerLeads waits for writes, and in the long form until another server runs the controllers and
// a minute has passed.
func (s *system) anotherServerLeads() {
	s.t.Helper()
	holder, minute := s.lease.holder(), time.After(time.Minute)
	s.writesGoOn()
	if !long() {
		return
	}
	waittest.Until(s.t, "another server holds the Lease of the controllers", func() error {
		if s.lease.holder() == holder {
			return errors.New("the paused server still holds the Lease")
		}
		return nil
	})
	<-minute
}

func (s *system) killMember() func() {
	m := s.cluster.members[s.random.IntN(len(s.cluster.members))]
	m.kill()
	return func() { m.start(s.t) }
}

func (s *system) pauseMember() func() {
	m := s.cluster.members[s.random.IntN(len(s.cluster.members))]
	m.pause(s.t)
	return m.resume
}

func (s *system) cutOffLeader() func() {
	s.cluster.links.isolate(s.cluster.leader(s.t))
	return s.cluster.links.heal
}

func (s *system) cutOffFollower() func() {
	_, follower := s.leaderAndFollower()
	s.cluster.links.isolate(follower)
	return s.cluster.links.heal
}

func (s *system) moveLeader() func() {
	leader, follower := s.leaderAndFollower()
	s.cluster.moveLeader(s.t, leader, follower)
	return func() {}
}

func (s *system) leaderAndFollower() (leader, follower int) {
	leader = s.cluster.leader(s.t)
	return leader, (leader + 1 + s.random.IntN(2)) % len(s.cluster.members)
}

func (s *system) killMajority() func() {
	dead := s.random.Perm(len(s.cluster.members))[:2]
	for _, i := range dead {
		s.cluster.members[i].kill()
	}
	return func() {
		for _, i := range dead {
			s.cluster.members[i].start(s.t)
		}
	}
}

func (s *system) killServer() func() {
	target := s.servers[s.random.IntN(len(s.servers))]
	target.kill()
	return func() { target.start(s.t) }
}

// pauseServer pauses the server that runs the controllers.
func (s *system) pauseServer() func() {
	s.t.Helper()
	var target *server
	waittest.Until(s.t, "a server runs the controllers", func() error {
		for _, target = range s.servers {
			if leads(s.t.Context(), target) {
				return nil
			}
		}
		return errors.New("no server runs the controllers")
	})
	target.pause(s.t)
	return target.resume
}
