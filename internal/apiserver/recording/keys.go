package recording

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/apiserver/storage"
)

// Prefix is the prefix of the keys of all entries. A key continues with the resource, the namespace or clusterScoped, the name, the UID and
// the number of the entry.
const Prefix = storage.HistoryPrefix

// clusterScoped stands for the namespace of an object without one. No namespace has this name.
const clusterScoped = "_"

// place says where the records of the objects with one name are.
type place struct {
	resource        schema.GroupResource
	namespace, name string
}

// prefix is that of the keys of all records.
func (p place) prefix() string {
	namespace := p.namespace
	if namespace == "" {
		namespace = clusterScoped
	}
	return Prefix + p.resource.String() + "/" + namespace + "/" + p.name + "/"
}

// record returns the prefix of the keys of the record of one object.
func (p place) record(uid types.UID) string { return p.prefix() + string(uid) + "/" }

// numberDigits is enough for every int64, so that the order of keys is the order of numbers.
const numberDigits = 19

// entryKey returns the key of an entry in a record.
func entryKey(record string, number int64) string {
	digits := strconv.FormatInt(number, 10)
	return record + zeros[:numberDigits-len(digits)] + digits
}

const zeros = "0000000000000000000"

// expiryPrefix is the prefix of the keys that name the records of deleted objects, by the time of the deletion.
const expiryPrefix = storage.KeyPrefix + storage.InternalPrefix + "/history-deleted/"

// expiryKey returns the key that names the record of a deleted object. The value is the prefix of the record.
func expiryKey(deleted time.Time, uid types.UID) string {
	return fmt.Sprintf("%s%0*d/%s", expiryPrefix, numberDigits, deleted.UnixMilli(), uid)
}

// deletionTime returns the time in a key that names the record of a deleted object.
func deletionTime(key string) (time.Time, error) {
	text, _, _ := strings.Cut(strings.TrimPrefix(key, expiryPrefix), "/")
	milli, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("key %q: %w", key, err)
	}
	return time.UnixMilli(milli), nil
}

// parseKey returns the UID and the number in the key of an entry.
func parseKey(key string) (uid types.UID, number int64, err error) {
	parts := strings.Split(key, "/")
	if len(parts) < 2 {
		return "", 0, fmt.Errorf("key %q: not that of an entry", key)
	}
	number, err = strconv.ParseInt(parts[len(parts)-1], 10, 64)
	if err != nil {
		return "", 0, fmt.Errorf("key %q: %w", key, err)
	}
	return types.UID(parts[len(parts)-2]), number, nil
}
