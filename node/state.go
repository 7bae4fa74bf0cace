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

	"holdfast.dev/holdfast/projection"
)

// State is where an agent remembers. What was saved is there after a crash.
type State interface {
	// Key is the secret of the node that digests of secret content are made
	// with, the same one every time.
	Key() ([]byte, error)
	// Records returns all that were saved, or with a *DamagedError those that can
	// be read.
	Records() ([]*Record, error)
	SaveRecord(record *Record) error
	DeleteRecord(uid types.UID) error
	// Object returns an object that was saved, or fs.ErrNotExist.
	Object(uid types.UID) (*Object, error)
	// Objects are the UIDs of those that were saved.
	Objects() ([]types.UID, error)
	SaveObject(object *Object) error
	DeleteObject(uid types.UID) error
}

const (
	keySize      = 32
	temporary    = ".tmp"
	recordSuffix = ".json"
)

// diskState is a State in the directory state of the agent's root, which only
// the agent's user may enter: objects have the content of Secrets.
type diskState struct {
	dir string
}

func (d diskState) records() string { return filepath.Join(d.dir, "pods") }
func (d diskState) objects() string { return filepath.Join(d.dir, "objects") }

// open makes the directories and removes what a crash left.
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
		_, _ = rand.Read(key) // it never returns an error
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
			continue // no record has that name
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

// fileOf is the file of something with a UID, which comes from the API and is
// not trusted to be a name.
func fileOf(dir string, uid types.UID) (string, error) {
	if err := checkName(string(uid)); err != nil {
		return "", err
	}
	return filepath.Join(dir, string(uid)+recordSuffix), nil
}

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

// save puts a file in place so that a crash leaves the old one or the new one.
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
