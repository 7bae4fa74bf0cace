package recording

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/apiserver/storage"
)

// Prefix is the prefix of the keys of all entries. A key continues with the resource, the namespace or clusterScoped, the name, the UID and
// the number of the entry.
const Prefix = storage.KeyPrefix + storage.InternalPrefix + "/history/"

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
	return fmt.Sprintf("%s%0*d", record, numberDigits, number)
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
