package node

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/internal/projection"
)

// Volumes stores the files of the volumes of pods.
type Volumes interface {
	// Path returns the directory with the files of a volume.
	Path(pod types.UID, volume string) string
	// Write replaces the files of a volume, like projection.Writer.Write.
	Write(owner VolumeOwner, volume string, payload projection.Payload) (changed bool, err error)
	// Link makes the path that has the name of the pod lead to a volume.
	Link(owner VolumeOwner, volume string) error
	// Stage writes the files to a new directory outside of the volume and returns its
	// path. A check hook reads them there. Unstage removes the directory.
	Stage(owner VolumeOwner, volume string, payload projection.Payload) (dir string, err error)
	Unstage(dir string) error
	// Read returns the files of a volume, or fs.ErrNotExist.
	Read(pod types.UID, volume string) (projection.Payload, error)
	// Repair removes what a crash left in a volume.
	Repair(pod types.UID, volume string) error
	// Remove removes all volumes of a pod.
	Remove(pod types.UID) error
	// Pods returns the UIDs of all pods that have files.
	Pods() ([]types.UID, error)
}

// VolumeOwner is the pod that a volume belongs to.
type VolumeOwner struct {
	Name cache.ObjectName
	UID  types.UID
	// Group, unless it is nil, is the group that may read the files.
	Group *int
}

const (
	// podMode is the mode of the directory of a pod. It limits the access to all
	// directories below it.
	podMode     = 0o750
	stagingMode = 0o755
	// openMode is the mode of the directories above those of pods.
	openMode = 0o755
)

// diskVolumes stores volumes in the directory "pods" below the root of the agent.
type diskVolumes struct {
	dir    string
	writer projection.Writer
	// links holds the paths that have the names of pods; nil means that there are none.
	links *nameLinks
}

// stagingDir is the directory in the directory of a pod that holds staged files.
const stagingDir = "staging"

// open creates the directory, and removes the files that a previous agent staged. It
// syncs the directory and its parent, because a previous agent may have been killed
// before it did that.
func (d diskVolumes) open() error {
	if err := makeOpenDir(d.dir); err != nil {
		return err
	}
	staged, err := filepath.Glob(filepath.Join(d.dir, "*", stagingDir))
	if err != nil {
		return err
	}
	for _, dir := range staged {
		if err := d.writer.Remove(dir); err != nil {
			return err
		}
	}
	return errors.Join(d.disk().SyncDir(filepath.Dir(d.dir)), d.disk().SyncDir(d.dir))
}

// makeDir creates the directory of a pod if it is missing, and syncs its parent, so
// that the directory is on disk before its content.
func (d diskVolumes) makeDir(dir string) error {
	err := d.disk().Mkdir(dir, podMode)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil
	case err != nil:
		return err
	}
	return d.disk().SyncDir(d.dir)
}

func (d diskVolumes) disk() projection.FS {
	if d.writer.FS == nil {
		return projection.OS{}
	}
	return d.writer.FS
}

// Path implements Volumes.
func (d diskVolumes) Path(pod types.UID, volume string) string {
	return filepath.Join(d.dir, string(pod), "volumes", volume)
}

// Write implements Volumes.
func (d diskVolumes) Write(owner VolumeOwner, volume string, payload projection.Payload) (bool, error) {
	if err := d.openPod(owner, volume); err != nil {
		return false, err
	}
	return d.writer.Write(d.Path(owner.UID, volume), payload)
}

// Stage implements Volumes.
func (d diskVolumes) Stage(owner VolumeOwner, volume string, payload projection.Payload) (string, error) {
	if err := d.openPod(owner, volume); err != nil {
		return "", err
	}
	parent := filepath.Join(d.dir, string(owner.UID), stagingDir)
	if err := d.disk().Mkdir(parent, stagingMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	dir, err := os.MkdirTemp(parent, volume+"-")
	if err != nil {
		return "", err
	}
	err = os.Chmod(dir, stagingMode)
	if err == nil {
		_, err = d.writer.Write(dir, payload)
	}
	if err != nil {
		return "", errors.Join(err, d.Unstage(dir))
	}
	return dir, nil
}

// Unstage implements Volumes.
func (d diskVolumes) Unstage(dir string) error { return d.writer.Remove(dir) }

// openPod creates the directory of a pod, with its mode and group. It sets them on every
// call, because an earlier agent may have been killed after it created the directory.
func (d diskVolumes) openPod(owner VolumeOwner, volume string) error {
	for _, name := range []string{string(owner.UID), volume} {
		if err := checkName(name); err != nil {
			return err
		}
	}
	dir := filepath.Join(d.dir, string(owner.UID))
	if err := d.makeDir(dir); err != nil {
		return err
	}
	if owner.Group != nil {
		if err := projection.SetGroup(dir, *owner.Group); err != nil {
			return err
		}
	}
	return os.Chmod(dir, podMode)
}

// Link implements Volumes.
func (d diskVolumes) Link(owner VolumeOwner, volume string) error {
	if d.links == nil {
		return nil
	}
	return d.links.set(owner, volume)
}

// Read implements Volumes.
func (d diskVolumes) Read(pod types.UID, volume string) (projection.Payload, error) {
	return d.writer.Read(d.Path(pod, volume))
}

// Repair implements Volumes.
func (d diskVolumes) Repair(pod types.UID, volume string) error {
	return d.writer.Repair(d.Path(pod, volume))
}

// Remove implements Volumes.
func (d diskVolumes) Remove(pod types.UID) error {
	if err := checkName(string(pod)); err != nil {
		return err
	}
	if err := d.writer.Remove(filepath.Join(d.dir, string(pod))); err != nil || d.links == nil {
		return err
	}
	return d.links.prune()
}

// Pods implements Volumes.
func (d diskVolumes) Pods() ([]types.UID, error) {
	entries, err := os.ReadDir(d.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var pods []types.UID
	for _, entry := range entries {
		pods = append(pods, types.UID(entry.Name()))
	}
	return pods, err
}

// makeOpenDir creates a directory that every user can enter, whatever the umask. It does not
// change the mode of the parents.
func makeOpenDir(dir string) error {
	if err := os.MkdirAll(dir, openMode); err != nil {
		return err
	}
	return os.Chmod(dir, openMode)
}
