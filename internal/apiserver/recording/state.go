package recording

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/storage/value"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"
	"k8s.io/klog/v2"
	"k8s.io/utils/lru"

	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/fieldhistory"
)

// state is what a write needs to know of the record of its object. The zero value is that of an empty record. It never changes.
type state struct {
	// number is that of the newest entry, and created the revision that created its key.
	number, created int64
	// seen is the revision of the newest write of the object that this server made, if the object has the content after the newest entry
	// since. It is zero if the state was read from etcd.
	seen int64
	// by is the number of the storage that made this write. The storage of another version, or of the same one with another schema, may see
	// other content.
	by uint64
	// after is the fingerprint of the content after the newest entry.
	after uint64
	// apiVersion is that of the newest entry.
	apiVersion string
	// lost says that the newest entry cannot be read, so that after is not known.
	lost bool
	// sizes are those of the stored entries, the oldest first.
	sizes []int32
}

// first is the number of the oldest entry.
func (s state) first() int64 { return s.number - int64(len(s.sizes)) + 1 }

// isOf reports whether the newest entry is that of an object as it is: this server has made the last write of the object. Each new entry is
// a write of the object, so there is no other one.
func (s state) isOf(obj writtenObject) bool {
	return s.seen > 0 && strconv.FormatInt(s.seen, 10) == obj.version
}

func (s state) bytes() int {
	sum := 0
	for _, size := range s.sizes {
		sum += int(size)
	}
	return sum
}

// total is the number of bytes of the keys and values of a record.
func (s state) total(record string) int { return s.bytes() + len(s.sizes)*(len(record)+numberDigits) }

const (
	// statesBytes bounds the memory of states, about.
	statesBytes = 8 << 20
	// stateBytes is that of a state without its sizes, and sizeBytes that of a size.
	stateBytes, sizeBytes = 200, 4
)

// states are the states of the records that this server wrote or read last.
type states struct{ *lru.Cache }

// newStates returns states of records with a largest number of entries.
func newStates(entries int) states {
	return states{lru.New(max(1, statesBytes/(stateBytes+sizeBytes*entries)))}
}

// get returns a known state.
func (s states) get(uid types.UID) (state, bool) {
	known, ok := s.Get(uid)
	if !ok {
		return state{}, false
	}
	is, ok := known.(state)
	return is, ok
}

// state returns the state of a record, from etcd if again says that the known one is old.
func (r *Recorder) state(ctx context.Context, of writtenObject, again bool) (state, error) {
	if known, ok := r.states.get(of.uid); ok && !again {
		return known, nil
	}
	pairs, err := r.pairs(ctx, of.record())
	if err != nil || len(pairs) == 0 {
		return state{}, err
	}
	last := pairs[len(pairs)-1]
	_, number, err := parseKey(last.Key)
	if err != nil {
		return state{}, err
	}
	is := state{number: number, created: last.Created}
	entry, err := r.decode(ctx, of.resource, last)
	if err != nil {
		// The key of its encryption may be gone. The object can be written all the same.
		klog.ErrorS(err, "history has an entry that cannot be read")
	}
	is.after, is.apiVersion, is.lost = entry.after, entry.APIVersion, err != nil
	for _, pair := range pairs {
		is.sizes = append(is.sizes, int32(len(pair.Value)))
	}
	r.states.Add(of.uid, is)
	return is, nil
}

// page is how many entries are read at a time.
const page = 500

// pairs reads all pairs with a prefix.
func (r *Recorder) pairs(ctx context.Context, prefix string) ([]etcd.Pair, error) {
	var all []etcd.Pair
	part := etcd.Range{Prefix: prefix, Limit: page}
	for {
		read, err := r.Client.Page(ctx, part)
		if err != nil {
			return nil, err
		}
		all = append(all, read.Pairs...)
		if len(read.Pairs) < page {
			return all, nil
		}
		part.After = all[len(all)-1].Key
	}
}

// stored is an entry as it is stored.
type stored struct {
	fieldhistory.Entry
	after uint64
}

// encode returns the text of a stored entry: that of the entry, with the fingerprint of the content after it.
func encode(entry []byte, after uint64) []byte {
	text := append(make([]byte, 0, len(entry)+32), `{"after":"`...)
	text = strconv.AppendUint(text, after, 16)
	text = append(text, `",`...)
	return append(text, entry[1:]...)
}

// decode decrypts and decodes a stored entry.
func (r *Recorder) decode(ctx context.Context, resource schema.GroupResource, pair etcd.Pair) (stored, error) {
	text, _, err := r.transformer(resource).TransformFromStorage(ctx, pair.Value, value.DefaultContext(pair.Key))
	if err != nil {
		return stored{}, fmt.Errorf("decrypt %s: %w", pair.Key, err)
	}
	var read struct {
		fieldhistory.Entry
		After string `json:"after"`
	}
	if err := json.Unmarshal(text, &read); err != nil {
		return stored{}, fmt.Errorf("decode %s: %w", pair.Key, err)
	}
	after, err := strconv.ParseUint(read.After, 16, 64)
	if err != nil {
		return stored{}, fmt.Errorf("decode %s: %w", pair.Key, err)
	}
	if read.ResourceVersion == "" {
		// The entry was written with the object. Later its key may be written again with another key of encryption.
		read.ResourceVersion = strconv.FormatInt(pair.Created, 10)
	}
	return stored{read.Entry, after}, nil
}

// transformer returns what encrypts and decrypts the entries of a resource.
func (r *Recorder) transformer(resource schema.GroupResource) value.Transformer {
	if r.Transformers == nil {
		return identity.NewEncryptCheckTransformer()
	}
	return r.Transformers.TransformerForResource(resource)
}
