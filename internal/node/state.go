package node

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/projection"
)

// State stores records and pinned objects. Saved records and objects survive a
// crash.
type State interface {
	// Key returns the secret key of the node for digests of secret content. It
	// returns the same key on every call, also after a restart.
	Key() ([]byte, error)
	// Records returns all saved records. If some cannot be read, it returns the
	// others and a *DamagedError.
	Records() ([]*Record, error)
	// SaveRecord adds or replaces the record of a pod.
	SaveRecord(record *Record) error
	// DeleteRecord deletes the record of a pod, if there is one.
	DeleteRecord(uid types.UID) error
	// Object returns a saved object, or fs.ErrNotExist.
	Object(uid types.UID) (*Object, error)
	// Objects returns the UIDs of all saved objects.
	Objects() ([]types.UID, error)
	// SaveObject adds or replaces an object.
	SaveObject(object *Object) error
	// DeleteObject deletes an object, if it is saved.
	DeleteObject(uid types.UID) error
}

const (
	keySize      = 32
	temporary    = ".tmp"
	recordSuffix = ".json"
)

// diskState is a State in the directory "state" below the root of the agent. Only the
// user of the agent may enter it, because saved objects contain Secrets.
type diskState struct {
	dir string
}

func (d diskState) records() string { return filepath.Join(d.dir, "pods") }
func (d diskState) objects() string { return filepath.Join(d.dir, "objects") }

// open creates the directories and removes temporary files that a crash left.
func (d diskState) open() error {
	for _, dir := range []string{d.dir, d.records(), d.objects()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		if err := (projection.OS{}).SyncDir(filepath.Dir(dir)); err != nil {
			return err
		}
		leftovers, err := filepath.Glob(filepath.Join(dir, "*"+temporary))
		if err != nil {
			return err
		}
		for _, file := range leftovers {
			if err := os.Remove(file); err != nil {
				return err
			}
		}
	}
	return nil
}

// Key implements State.
func (d diskState) Key() ([]byte, error) {
	file := filepath.Join(d.dir, "key")
	info, err := os.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) {
		key := make([]byte, keySize)
		_, _ = rand.Read(key) // crypto/rand.Read never returns an error
		return key, save(file, key)
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s: must be a file that only its owner may read, and has mode %v", file, info.Mode())
	}
	key, err := os.ReadFile(file)
	if err == nil && len(key) != keySize {
		err = fmt.Errorf("%s: must have %d bytes, and has %d", file, keySize, len(key))
	}
	return key, err
}

// Records implements State.
func (d diskState) Records() ([]*Record, error) {
	files, err := filepath.Glob(filepath.Join(d.records(), "*"+recordSuffix))
	if err != nil {
		return nil, err
	}
	var records []*Record
	var pods []types.UID
	var failed []error
	for _, file := range files {
		record, uid := &Record{}, types.UID(strings.TrimSuffix(filepath.Base(file), recordSuffix))
		if checkName(string(uid)) != nil {
			continue // not a file that SaveRecord wrote
		}
		err := load(file, record)
		if err == nil && record.UID != uid {
			err = fmt.Errorf("%s: is that of the pod with UID %q", file, record.UID)
		}
		if err != nil {
			pods, failed = append(pods, uid), append(failed, err)
			continue
		}
		records = append(records, record)
	}
	if len(failed) > 0 {
		return records, &DamagedError{pods, errors.Join(failed...)}
	}
	return records, nil
}

// SaveRecord implements State.
func (d diskState) SaveRecord(record *Record) error {
	return saveJSON(d.records(), record.UID, record)
}

// DeleteRecord implements State.
func (d diskState) DeleteRecord(uid types.UID) error { return remove(d.records(), uid) }

// Object implements State.
func (d diskState) Object(uid types.UID) (*Object, error) {
	file, err := fileOf(d.objects(), uid)
	if err != nil {
		return nil, err
	}
	object := &Object{}
	return object, load(file, object)
}

// Objects implements State.
func (d diskState) Objects() ([]types.UID, error) {
	entries, err := os.ReadDir(d.objects())
	var uids []types.UID
	for _, entry := range entries {
		uids = append(uids, types.UID(strings.TrimSuffix(entry.Name(), recordSuffix)))
	}
	return uids, err
}

// SaveObject implements State.
func (d diskState) SaveObject(object *Object) error {
	return saveJSON(d.objects(), object.UID, object)
}

// DeleteObject implements State.
func (d diskState) DeleteObject(uid types.UID) error { return remove(d.objects(), uid) }

// fileOf returns the file for a UID. The UID comes from the API, so it is checked
// before it becomes part of a path.
func fileOf(dir string, uid types.UID) (string, error) {
	if err := checkName(string(uid)); err != nil {
		return "", err
	}
	return filepath.Join(dir, string(uid)+recordSuffix), nil
}

// checkName returns an error if a name cannot be one element of a path.
func checkName(name string) error {
	if name == "" || len(name) > 200 || strings.HasPrefix(name, ".") || strings.ContainsAny(name, "/\x00") {
		return fmt.Errorf("%q cannot be the name of a file", name)
	}
	return nil
}

func load(file string, into any) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

func saveJSON(dir string, uid types.UID, what any) error {
	file, err := fileOf(dir, uid)
	if err != nil {
		return err
	}
	data, err := json.Marshal(what)
	if err != nil {
		return err
	}
	return save(file, data)
}

// save writes a file atomically: after a crash there is either the old or the new
// content.
func save(file string, data []byte) error {
	disk := projection.OS{}
	next := file + temporary
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := disk.WriteFile(next, projection.File{Data: data, Mode: 0o600}); err != nil {
		return err
	}
	if err := disk.Rename(next, file); err != nil {
		return err
	}
	return disk.SyncDir(filepath.Dir(file))
}

func remove(dir string, uid types.UID) error {
	file, err := fileOf(dir, uid)
	if err != nil {
		return err
	}
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
