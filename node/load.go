package node

import (
	"errors"
	"fmt"
	"io/fs"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// load takes up what the agent before this one left: the records, and the files
// as they are, repaired and compared with the records. It needs no server.
func (a *Agent) load() error {
	key, err := a.State.Key()
	if err != nil {
		return fmt.Errorf("key: %w", err)
	}
	a.digest = digester{key}
	a.resolver = &resolver{
		client: a.Client, state: a.State, digest: a.digest, pins: !a.WatchImmutable,
		pinned: map[types.UID]*pinnedObject{}, reading: map[Ref]*reading{},
	}
	records, err := a.State.Records()
	var damaged *DamagedError
	switch {
	case errors.As(err, &damaged):
		klog.ErrorS(err, "state of pods is damaged; they are looked at anew")
		a.damaged = damaged.Pods
	case err != nil:
		return fmt.Errorf("records: %w", err)
	}
	for _, record := range records {
		a.publish(record)
		a.resolver.remember(record)
		for name := range record.Volumes {
			if err := a.verify(record, name); err != nil {
				// It is mended when the pod is looked at.
				klog.ErrorS(err, "a volume is not as it was left", "pod", record.key().String(), "uid", record.UID, "volume", name)
				a.failed(volumeID{record.UID, name})
			}
		}
	}
	if len(a.damaged) > 0 {
		// Nobody knows what those pods are pinned to. A start that reads all
		// records collects.
		return nil
	}
	return a.resolver.collect()
}

// verify repairs the files of a volume and compares them with the record.
func (a *Agent) verify(record *Record, name string) error {
	if err := a.Volumes.Repair(record.UID, name); err != nil {
		return err
	}
	return verify(a.Volumes, a.digest, record, name)
}

// errDamaged says that files are not those that were written.
var errDamaged = errors.New("files are damaged: their digest is not that of what was projected")

func verify(volumes Volumes, digest digester, record *Record, name string) error {
	volume := record.Volumes[name]
	payload, err := volumes.Read(record.UID, name)
	if errors.Is(err, fs.ErrNotExist) && volume.Previous == "" {
		return fmt.Errorf("files are missing: %w", fs.ErrNotExist)
	}
	if err != nil {
		return err
	}
	if sum := digest.sum(payload, volume.Secret); sum != volume.Digest && sum != volume.Previous {
		return errDamaged
	}
	return nil
}

// sweep has everything looked at that the agent before this one left, now that
// the pods of the node are known.
func (a *Agent) sweep() error {
	a.mu.Lock()
	known := map[types.UID]bool{}
	for uid, record := range a.records {
		known[uid] = true
		a.queue.Add(record.key())
	}
	a.mu.Unlock()
	for _, obj := range a.pods.GetIndexer().List() {
		pod, ok := obj.(*corev1.Pod)
		if !ok {
			continue
		}
		name := cache.MetaObjectToName(pod)
		// What is there of a pod without a record, because that is damaged, stays
		// until there is something better, and goes with the pod.
		if !known[pod.UID] {
			known[pod.UID] = true
			a.publish(a.recordOf(name, pod.UID))
		}
		a.queue.Add(name)
	}
	// Otherwise files without a record are those of a removal that was cut short.
	uids, err := a.Volumes.Pods()
	if err != nil {
		return err
	}
	for _, uid := range append(uids, a.damaged...) {
		if known[uid] {
			continue
		}
		if err := a.Volumes.Remove(uid); err != nil {
			return err
		}
		if err := a.State.DeleteRecord(uid); err != nil {
			return err
		}
	}
	return nil
}

// publish makes a record the one that everybody sees.
func (a *Agent) publish(record *Record) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.records[record.UID] = record
}

// commit saves a record and publishes it. The record is not changed afterwards.
func (a *Agent) commit(record *Record) error {
	saved := record.clone()
	if err := a.State.SaveRecord(saved); err != nil {
		return fmt.Errorf("save state of pod %s: %w", record.key(), err)
	}
	a.publish(saved)
	return nil
}

// recordOf is a copy of what is remembered of a pod, or a new record.
func (a *Agent) recordOf(key cache.ObjectName, uid types.UID) *Record {
	a.mu.Lock()
	defer a.mu.Unlock()
	if record := a.records[uid]; record != nil {
		return record.clone()
	}
	return (&Record{Namespace: key.Namespace, Name: key.Name, UID: uid}).clone()
}
