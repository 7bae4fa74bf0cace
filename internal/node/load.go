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

// load reads the records of the previous run, repairs the volumes and compares their
// files with the records. It sends no request to the server.
func (a *Agent) load() error {
	key, err := a.State.Key()
	if err != nil {
		return fmt.Errorf("key: %w", err)
	}
	a.digest = digester{key}
	a.resolver = &resolver{
		client: a.Client, state: a.State, digest: a.digest, space: a.space, pins: !a.WatchImmutable,
		pinned: map[types.UID]*pinnedObject{}, readLocks: map[Ref]*readLock{},
	}
	records, err := a.State.Records()
	var damaged *DamagedError
	switch {
	case errors.As(err, &damaged):
		klog.ErrorS(err, "records of pods are damaged; the agent reads these pods from the server again")
		a.damaged = damaged.Pods
	case err != nil:
		return fmt.Errorf("records: %w", err)
	}
	for _, record := range records {
		a.setRecord(record)
		a.resolver.addPins(record)
		for name, volume := range record.Volumes {
			a.space.add(spacePart{record.Namespace, record.UID, name}, volume.Size)
			a.loadVolume(record, name)
		}
	}
	if len(a.damaged) > 0 {
		// The pods with damaged records may be pinned to any saved object, so the agent
		// deletes no saved object now. The next start that can read all records deletes
		// the objects that no record is pinned to.
		return nil
	}
	return a.resolver.deleteUnpinned()
}

// loadVolume repairs a volume and compares its files with the record. It restores damaged
// files from saved objects if it can. Otherwise the next sync of the pod repairs the volume.
func (a *Agent) loadVolume(record *Record, name string) {
	damage := a.repairAndVerify(record, name)
	if damage == nil {
		return
	}
	values := []any{"pod", record.podName().String(), "uid", record.UID, "volume", name}
	if err := a.restore(record, name); err != nil {
		klog.ErrorS(damage, "the files of a volume are damaged; the next sync of the pod replaces them", append(values, "notRestored", err)...)
		a.markFailing(volumeID{record.UID, name})
		return
	}
	klog.InfoS("a damaged volume is restored from saved objects", append(values, "damage", damage)...)
}

// repairAndVerify removes what a crash left in a volume, and then calls verify.
func (a *Agent) repairAndVerify(record *Record, name string) error {
	if err := a.Volumes.Repair(record.UID, name); err != nil {
		return err
	}
	return verify(a.Volumes, a.digest, record, name)
}

// errDamaged is returned when the files of a volume are not those that the agent
// wrote.
var errDamaged = errors.New("files are damaged: their digest differs from that of the files that the agent wrote")

// verify compares the files of a volume with the record of its pod. After a crash
// the files may still be those before the last change; this is no error.
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

// sweep enqueues all pods that the agent has a record of and all pods of the node,
// and removes files and records of pods that no longer exist. It runs once, after
// the informer has listed the pods of the node.
func (a *Agent) sweep() error {
	a.mu.Lock()
	known := map[types.UID]bool{}
	for uid, record := range a.records {
		known[uid] = true
		a.loop.Add(record.podName())
	}
	a.mu.Unlock()
	for _, obj := range a.pods.GetIndexer().List() {
		pod, ok := obj.(*corev1.Pod)
		if !ok {
			continue
		}
		name := cache.MetaObjectToName(pod)
		// The pod may have files although its record is missing or damaged. The empty
		// record keeps these files: the next sync replaces them, and the deletion of
		// the pod removes them.
		if !known[pod.UID] {
			known[pod.UID] = true
			a.setRecord(a.copyRecord(name, pod.UID))
		}
		a.loop.Add(name)
	}
	// The remaining directories and damaged records belong to pods that no longer
	// exist.
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

// setRecord makes a record the current one of its pod.
func (a *Agent) setRecord(record *Record) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.records[record.UID] = record
}

// saveRecord saves a copy of the record on disk and makes it the current one.
func (a *Agent) saveRecord(record *Record) error {
	saved := record.clone()
	if err := a.State.SaveRecord(saved); err != nil {
		return fmt.Errorf("save state of pod %s: %w", record.podName(), err)
	}
	a.setRecord(saved)
	return nil
}

// copyRecord returns a copy of the current record of a pod, or an empty record.
func (a *Agent) copyRecord(key cache.ObjectName, uid types.UID) *Record {
	a.mu.Lock()
	defer a.mu.Unlock()
	if record := a.records[uid]; record != nil {
		return record.clone()
	}
	return (&Record{Namespace: key.Namespace, Name: key.Name, UID: uid}).clone()
}
