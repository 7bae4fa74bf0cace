package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/maintenance"
	"holdfast.dev/holdfast/internal/apiserver/start"
)

const (
	// The free space is low below both lowShare of the file system and lowSpace bytes, and gone below
	// noShare and noSpace.
	lowShare, lowSpace = 0.1, 10 << 30
	noShare, noSpace   = 0.02, 1 << 30
	// slowSync is the number of seconds above which a sync is slow.
	slowSync = 0.1
	// fullDatabase is the part of its quota above which a database is nearly full.
	fullDatabase = 0.8
)

// examineStopped examines the data of a server that is stopped. Damaged data is a finding. Nothing can be
// examined if there is no data, if a server uses it, or if etcd does not answer.
func examineStopped(ctx context.Context, config apiserver.Config) (report, error) {
	diagnosis, err := maintenance.Diagnose(ctx, config)
	if err == nil {
		r := report{{Name: "data", State: good, Message: config.DataDir + " can be opened"}}
		return append(r, examineDiagnosis(diagnosis, time.Now())...), nil
	}
	next := "mend what the message names; if the data is damaged, restore a backup: holdfast restore FILE --data-dir NEW"
	unreachable := errUnreachable
	switch {
	case errors.Is(err, start.ErrNoDataDir):
		next = "name the --data-dir of the server, and use the rights of its user"
	case strings.Contains(err.Error(), "in use by another"):
		next = "if a server uses the directory, ask it: holdfast doctor --kubeconfig " + config.DataDir + "/admin.kubeconfig"
	case len(config.Etcd.Servers) > 0:
		next = "start etcd, or name other servers with --etcd-servers"
	default:
		unreachable = nil
	}
	return report{{"data", failure, err.Error(), next}}, unreachable
}

// examineDiagnosis examines what the server tells about its data.
func examineDiagnosis(d maintenance.Diagnosis, now time.Time) []check {
	var all []check
	for _, part := range [][]check{certificates(d.Certificates, now), disk(d.Disk), database(d.Etcd)} {
		all = append(all, part...)
	}
	return all
}

func disk(d maintenance.Disk) []check {
	if d.Error != "" {
		return []check{{
			"disk", failure, fmt.Sprintf("%s cannot be written: %s", d.Path, d.Error),
			"free space, or mount the file system for writing; the server then goes on, restart it if it does not",
		}}
	}
	free := fmt.Sprintf("%s of %s are free in the file system of %s", size(int64(d.FreeBytes)), size(int64(d.TotalBytes)), d.Path)
	share := float64(d.FreeBytes) / float64(max(d.TotalBytes, 1))
	var found []check
	switch {
	case d.FreeBytes < noSpace && share < noShare:
		found = append(found, check{"disk", failure, free, "free space: nothing can be stored when the disk is full"})
	case d.FreeBytes < lowSpace && share < lowShare:
		found = append(found, check{"disk", warning, free, "free space before the disk is full"})
	}
	const needs = "etcd needs a disk that syncs within 10 ms: stop what else writes to it, or move the data to a disk of its own"
	switch {
	case d.Hangs:
		message := fmt.Sprintf("a small file in %s is not on the disk after %.0f seconds", d.Path, d.SyncSeconds)
		found = append(found, check{"disk", failure, message, needs + "; look for errors of the disk in the log of the kernel: dmesg"})
	case d.SyncSeconds > slowSync:
		message := fmt.Sprintf("a small file in %s took %.1f seconds to reach the disk", d.Path, d.SyncSeconds)
		found = append(found, check{"disk", warning, message, needs})
	}
	return orGood("disk", free, found)
}

func database(members []etcd.MemberStatus) []check {
	var found []check
	var texts []string
	for _, m := range members {
		add := func(s state, message, next string) {
			found = append(found, check{"etcd", s, fmt.Sprintf("member %s: %s", m.Endpoint, message), next})
		}
		full := fmt.Sprintf("%s of %s", size(m.SizeBytes), size(m.QuotaBytes))
		// The member in the process makes its database smaller by itself, so only the data counts.
		filled, defragment := m.SizeBytes, "; then return the space: etcdctl defrag --endpoints "+m.Endpoint
		if m.Endpoint == etcd.InProcess {
			filled, defragment = m.UsedBytes, ""
		}
		switch {
		case m.Error != "":
			add(failure, m.Error, "start the member, and look at its log")
			continue
		case !m.HasLeader:
			add(failure, "knows no leader", "start the other members: a cluster needs more than half of them")
		case m.QuotaBytes > 0 && float64(filled) > fullDatabase*float64(m.QuotaBytes):
			add(warning, "the database has "+full, "delete objects that are not needed"+defragment)
		}
		for _, alarm := range m.Alarms {
			add(failure, "alarm "+alarm, alarmAdvice(m.Endpoint, alarm))
		}
		texts = append(texts, fmt.Sprintf("%s: version %s, %s", m.Endpoint, m.Version, full))
	}
	return orGood("etcd", strings.Join(texts, "; "), found)
}

// alarmAdvice says what to do about an alarm of etcd.
func alarmAdvice(endpoint, alarm string) string {
	switch {
	case alarm == "CORRUPT":
		return "the data is damaged: stop the server, and restore a backup: holdfast restore FILE --data-dir NEW"
	case alarm != "NOSPACE":
		return "see the documentation of etcd about this alarm"
	case endpoint == etcd.InProcess:
		return "the database is full, and nothing can be stored: delete objects that are not needed; within seconds, the server makes " +
			"the database smaller and stores objects again"
	}
	return "the database is full, and nothing can be stored: delete objects that are not needed, then etcdctl compact REVISION, " +
		"etcdctl defrag --endpoints " + endpoint + " and etcdctl alarm disarm"
}

// size returns a number of bytes for people to read.
func size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
}
