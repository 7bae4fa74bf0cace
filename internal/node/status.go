package node

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
)

// VolumeStatus is the state of one volume, read from the root directory of an agent.
type VolumeStatus struct {
	Namespace, Pod string
	UID            types.UID
	Volume         string
	// Path is the directory with the files.
	Path string
	// Digest is the digest of the files that the agent wrote.
	Digest string
	// Problem is nil if the files are still those that the agent wrote.
	Problem error
	// Projected is when the files last changed.
	Projected time.Time
	// Sources are the objects that the volume references.
	Sources []SourceStatus
}

// SourceStatus is the version of an object that a pod has. An optional object that
// does not exist has no UID.
type SourceStatus struct {
	Source
	// Mode is "watched" or "immutable".
	Mode string
}

// ReadStatus returns the volumes below the root directory of an agent, and compares
// their files with the records. It changes nothing. The agent may be running or not,
// and the server is not needed.
func ReadStatus(root string) ([]VolumeStatus, error) {
	root, err := absoluteRoot(root)
	if err != nil {
		return nil, err
	}
	state := diskState{dir: filepath.Join(root, "state")}
	if _, err := os.Stat(state.dir); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: no agent has been here: there is no directory state", root)
		}
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(state.dir, "key")); err != nil {
		return nil, err
	}
	key, err := state.Key()
	if err != nil {
		return nil, err
	}
	records, err := state.Records()
	var damaged *DamagedError
	switch {
	case errors.As(err, &damaged):
		klog.ErrorS(err, "state of pods is damaged and left out")
	case err != nil:
		return nil, err
	}
	volumes := diskVolumes{dir: filepath.Join(root, "pods")}
	var all []VolumeStatus
	for _, record := range records {
		for name, volume := range record.Volumes {
			status := VolumeStatus{
				Namespace: record.Namespace, Pod: record.Name, UID: record.UID, Volume: name,
				Path: volumes.Path(record.UID, name), Digest: volume.Digest, Projected: volume.Projected,
				Problem: verify(volumes, digester{key}, record, name),
			}
			for _, ref := range volume.Sources {
				source := record.source(ref)
				if source == nil {
					source = &Source{Ref: ref}
				}
				status.Sources = append(status.Sources, SourceStatus{*source, source.mode()})
			}
			all = append(all, status)
		}
	}
	slices.SortFunc(all, func(a, b VolumeStatus) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Pod, b.Pod),
			cmp.Compare(a.UID, b.UID), cmp.Compare(a.Volume, b.Volume))
	})
	return all, nil
}
