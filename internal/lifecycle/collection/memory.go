package collection

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/klog/v2"
)

const (
	// maxRecords is how many collected objects the memory knows.
	maxRecords = 4096
	// maxOpen is how many objects are about to be deleted at the same time, and maxOpenOfNamespace how many of one namespace. Their records must stay until
	// they are deleted: with more objects than records, each would displace the record of another one, and none would ever be deleted.
	maxOpen, maxOpenOfNamespace = maxRecords / 2, 256
	// openFor is after which time an object does not count as one that is about to be deleted, because something else has happened to it.
	openFor = time.Minute
	// sumSize is how many bytes of a hash the memory has.
	sumSize = 16
)

type sum [sumSize]byte

// entry is what the memory knows of a collected object.
type entry struct {
	// name is a hash of the kind, the namespace and the name, content of these and the content, and uid of these and the UID.
	name, content, uid sum
}

// memory remembers which objects were collected, in a Secret. It is safe for concurrent use.
type memory struct {
	secrets typedcorev1.SecretInterface
	// stored is told of objects whose record is stored, or is to be made again.
	stored func(key)
	// kick wakes the goroutine that writes the Secret.
	kick chan struct{}

	mu     sync.Mutex
	loaded bool
	contents
	// version is the resourceVersion of the Secret, empty if there is none.
	version string
	// pending has the records that are not stored yet.
	pending map[key]entry
	// open has the objects that are about to be deleted, by namespace, and since when.
	open map[string]map[key]time.Time
}

// contents are the contents of the Secret.
type contents struct {
	secret []byte
	// records has the records of each namespace, the oldest first.
	records map[string][]entry
}

func newMemory(secrets typedcorev1.SecretInterface, stored func(key)) *memory {
	return &memory{
		secrets: secrets, stored: stored, kick: make(chan struct{}, 1),
		contents: contents{records: map[string][]entry{}}, pending: map[key]entry{},
		open: map[string]map[key]time.Time{},
	}
}

// run reads the Secret, and writes it when there are new records, until ctx ends.
func (m *memory) run(ctx context.Context) {
	retry(ctx, "read what was collected", m.load)
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.kick:
			retry(ctx, "store what is collected", m.store)
		}
	}
}

// retry calls a function until it succeeds or ctx ends.
func retry(ctx context.Context, what string, do func(context.Context) error) {
	backoff := wait.Backoff{Duration: firstRetry, Factor: 2, Steps: 8, Cap: lastRetry}
	for {
		err := do(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		klog.ErrorS(err, "nothing is collected meanwhile, will be tried again", "operation", what)
		select {
		case <-ctx.Done():
			return
		case <-time.After(backoff.Step()):
		}
	}
}

func (m *memory) isLoaded() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.loaded
}

// begin reports whether an object may be deleted now. Otherwise too many others are about to be deleted.
func (m *memory) begin(k key, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.open[k.namespace][k]; ok {
		return true
	}
	count := 0
	for namespace, objects := range m.open {
		maps.DeleteFunc(objects, func(_ key, since time.Time) bool { return now.Sub(since) > openFor })
		if len(objects) == 0 {
			delete(m.open, namespace)
		}
		count += len(objects)
	}
	if count >= maxOpen || len(m.open[k.namespace]) >= maxOpenOfNamespace {
		return false
	}
	if m.open[k.namespace] == nil {
		m.open[k.namespace] = map[key]time.Time{}
	}
	m.open[k.namespace][k] = now
	return true
}

// end records that an object is gone, or that it stays.
func (m *memory) end(k key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.open[k.namespace], k)
}

// remember reports whether the record of an object that will be deleted is stored. If it is not, the memory stores it, and then enqueues the
// object.
func (m *memory) remember(k key, uid types.UID, c content) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := m.newEntry(k, uid, c)
	if slices.Contains(m.records[k.namespace], found) {
		return true
	}
	m.pending[k] = found
	select {
	case m.kick <- struct{}{}:
	default: // it was woken already
	}
	return false
}

// hasName reports whether another object with the same name was collected.
func (m *memory) hasName(k key, uid types.UID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.records[k.namespace]) == 0 {
		return false
	}
	wanted := m.newEntry(k, uid, nil)
	return slices.ContainsFunc(m.records[k.namespace], func(r entry) bool { return r.name == wanted.name && r.uid != wanted.uid })
}

// hasContent reports whether another object with the same name and content was collected.
func (m *memory) hasContent(k key, uid types.UID, c content) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	wanted := m.newEntry(k, uid, c)
	return slices.ContainsFunc(m.records[k.namespace], func(r entry) bool { return r.content == wanted.content && r.uid != wanted.uid })
}

// newEntry returns the record of an object. The caller holds the lock.
func (c contents) newEntry(k key, uid types.UID, data content) entry {
	named := content{[]byte(k.kind.String()), []byte(k.namespace), []byte(k.name)}
	return entry{
		name:    c.hash("name", named),
		content: c.hash("content", slices.Concat(named, data)),
		uid:     c.hash("uid", append(named, []byte(uid))),
	}
}

// hash returns a hash of texts. Each text comes after its length, so that other texts have another hash.
func (c contents) hash(purpose string, texts content) sum {
	mac := hmac.New(sha256.New, c.secret)
	for _, text := range slices.Concat(content{[]byte(purpose)}, texts) {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(text)))
		mac.Write(length[:])
		mac.Write(text)
	}
	return sum(mac.Sum(nil)[:sumSize])
}

// add adds the keys and values of a map to a content, and their number.
func (c *content) add(data map[string][]byte) {
	*c = append(*c, binary.BigEndian.AppendUint64(nil, uint64(len(data))))
	for _, name := range slices.Sorted(maps.Keys(data)) {
		*c = append(*c, []byte(name), data[name])
	}
}

// with returns the contents with further records. If there are too many, the oldest of the namespace with the most go.
func (c contents) with(pending map[key]entry) contents {
	added := contents{secret: c.secret, records: maps.Clone(c.records)}
	count := len(pending)
	for _, records := range c.records {
		count += len(records)
	}
	for k, r := range pending {
		added.records[k.namespace] = append(slices.Clip(added.records[k.namespace]), r)
	}
	for ; count > maxRecords; count-- {
		var largest string
		for namespace, records := range added.records {
			if len(records) > len(added.records[largest]) {
				largest = namespace
			}
		}
		added.records[largest] = added.records[largest][1:]
		if len(added.records[largest]) == 0 {
			delete(added.records, largest)
		}
	}
	return added
}
