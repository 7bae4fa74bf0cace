package node

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/projection"
)

// Volumes is where an agent keeps the files of pods.
type Volumes interface {
	// Path is where the files of a volume are.
	Path(pod types.UID, volume string) string
	// Write is projection.Writer's, for a volume.
	Write(pod types.UID, volume string, payload projection.Payload, check func(set string) error) (changed bool, err error)
	// Read returns the files of a volume, or fs.ErrNotExist.
	Read(pod types.UID, volume string) (projection.Payload, error)
	// Repair removes what a crash left in a volume.
	Repair(pod types.UID, volume string) error
	// Remove removes all volumes of a pod.
	Remove(pod types.UID) error
	// Pods are those that have something here.
	Pods() ([]types.UID, error)
}

// podMode is the mode of the directory of a pod.
const podMode = 0o750

// diskVolumes keeps volumes under the directory pods of the agent's root.
type diskVolumes struct {
	dir    string
	writer projection.Writer
	// group, if not negative, may look into the directories of pods.
	group int
}

// open makes the directory. It and what is in it are there after a crash from
// then on, also if an agent was killed before it had seen to that.
func (d diskVolumes) open() error {
	if err := os.MkdirAll(d.dir, 0o755); err != nil {
		return err
	}
	return errors.Join(d.disk().SyncDir(filepath.Dir(d.dir)), d.disk().SyncDir(d.dir))
}

// makeDir makes the directory of a pod, if it is missing, on disk before what is
// in it.
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
func (d diskVolumes) Write(pod types.UID, volume string, payload projection.Payload, check func(set string) error) (bool, error) {
	for _, name := range []string{string(pod), volume} {
		if err := checkName(name); err != nil {
			return false, err
		}
	}
	dir := filepath.Join(d.dir, string(pod))
	if err := d.makeDir(dir); err != nil {
		return false, err
	}
	// Neither the mode is left to the umask nor the group to who started the
	// agent; nor does a crash in between leave them so.
	if err := errors.Join(os.Chmod(dir, podMode), d.admit(dir)); err != nil {
		return false, err
	}
	return d.writer.Write(d.Path(pod, volume), payload, check)
}

func (d diskVolumes) admit(dir string) error {
	if d.group < 0 {
		return nil
	}
	return os.Lchown(dir, -1, d.group)
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
	return d.writer.Remove(filepath.Join(d.dir, string(pod)))
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
