package refused

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"

	"holdfast.dev/holdfast/internal/protection"
)

const (
	// Age is how long a record keeps a write after its last refusal.
	Age = time.Hour
	// maxWrites is how many writes a record keeps. If there are more, the user with the most loses the oldest one.
	maxWrites = 1000
	// maxText is how many bytes of a text a record keeps. A user name may be long, and a field may have a long key.
	maxText = 256
)

// Write is a write that a protection refused. It has no value of the object and none of the request.
type Write struct {
	// First and Last are the times of the first and of the last refusal, Count the number of refusals. A client that repeats a write makes
	// no further entry.
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
	Count int       `json:"count"`
	User  string    `json:"user"`
	// Verb is that of the request: update, patch, delete, deletecollection or create.
	Verb        string `json:"verb"`
	Group       string `json:"group,omitempty"`
	Version     string `json:"version"`
	Resource    string `json:"resource"`
	Subresource string `json:"subresource,omitempty"`
	Namespace   string `json:"namespace,omitempty"`
	// Name is empty for the deletion of a collection, and for a new definition.
	Name string `json:"name,omitempty"`
	// Protection is what refused the write, such as immutable-field. Reason says it in words.
	Protection protection.Protection `json:"protection"`
	Reason     string                `json:"reason"`
	// Fields are the places of the object. There are none if the write is refused as a whole, and at most eight.
	Fields []string `json:"fields,omitempty"`
}

// of returns the resource of the object.
func (w *Write) of() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: w.Group, Version: w.Version, Resource: w.Resource}
}

// Record keeps the refused writes of the last hour. The zero value has none.
type Record struct {
	mu     sync.Mutex
	writes map[string]*Write
	// now is the clock of tests, nil for that of the machine.
	now func() time.Time
}

// Add adds the refusals of the request of a context.
func (r *Record) Add(ctx context.Context, refusals []protection.Refusal) {
	info, ok := request.RequestInfoFrom(ctx)
	by, known := request.UserFrom(ctx)
	if !ok || !known {
		return
	}
	now := r.time()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, each := range refusals {
		w := &Write{
			First: now, Last: now, Count: 1, User: short(by.GetName()), Verb: info.Verb,
			Group: short(info.APIGroup), Version: short(info.APIVersion), Resource: short(info.Resource), Subresource: short(info.Subresource),
			Namespace: short(info.Namespace), Name: short(info.Name), Protection: each.Protection, Reason: reasons[each.Protection],
		}
		for _, name := range each.Fields {
			w.Fields = append(w.Fields, short(name))
		}
		r.add(w)
	}
}

// add adds a write, or counts it if the record has it.
func (r *Record) add(w *Write) {
	key := strings.Join(append([]string{
		w.User, w.Verb, w.Group, w.Version, w.Resource, w.Subresource, w.Namespace, w.Name, string(w.Protection),
	}, w.Fields...), "\x00")
	if known := r.writes[key]; known != nil && !r.isOld(known, w.Last) {
		known.Last, known.Count = w.Last, known.Count+1
		return
	}
	if r.writes == nil {
		r.writes = map[string]*Write{}
	}
	if len(r.writes) >= maxWrites {
		r.makeRoom(w.Last)
	}
	r.writes[key] = w
}

// makeRoom removes old writes, or the oldest one of the user with the most.
func (r *Record) makeRoom(now time.Time) {
	oldest, counts := map[string]string{}, map[string]int{}
	for key, w := range r.writes {
		if r.isOld(w, now) {
			delete(r.writes, key)
			continue
		}
		counts[w.User]++
		if first, known := oldest[w.User]; !known || w.Last.Before(r.writes[first].Last) {
			oldest[w.User] = key
		}
	}
	if len(r.writes) < maxWrites {
		return
	}
	most := ""
	for by, count := range counts {
		if most == "" || count > counts[most] || count == counts[most] && by < most {
			most = by
		}
	}
	delete(r.writes, oldest[most])
}

func (r *Record) isOld(w *Write, now time.Time) bool { return now.Sub(w.Last) >= Age }

func (r *Record) time() time.Time {
	if r.now != nil {
		return r.now()
	}
	return time.Now().UTC().Truncate(time.Second)
}

// Seen returns the writes of the last hour to objects that the user of a request may get, the newest first. For a write without a
// name, the user must be able to list the objects.
func (r *Record) Seen(ctx context.Context, rights authorizer.UnconditionalAuthorizer) []Write {
	by, found := request.UserFrom(ctx)
	if !found {
		return []Write{}
	}
	type object struct {
		schema.GroupVersionResource
		namespace, name string
	}
	asked := map[object]bool{}
	return r.all(func(w *Write) bool {
		of := object{w.of(), w.Namespace, w.Name}
		if _, known := asked[of]; !known {
			attributes := authorizer.AttributesRecord{
				User: by, Verb: "get", ResourceRequest: true, APIGroup: w.Group, APIVersion: w.Version, Resource: w.Resource,
				Namespace: w.Namespace, Name: w.Name,
			}
			if w.Name == "" {
				attributes.Verb = "list"
			}
			decision, _, err := rights.Authorize(ctx, attributes)
			asked[of] = err == nil && decision == authorizer.DecisionAllow
		}
		return asked[of]
	})
}

// About returns the writes of the last hour to one object, the newest first. The caller has authorized the user to get it.
func (r *Record) About(resource schema.GroupResource, namespace, name string) []Write {
	return r.all(func(w *Write) bool {
		return w.of().GroupResource() == resource && w.Namespace == namespace && w.Name == name
	})
}

// all returns the writes of the last hour that a function selects. The function is called without the lock.
func (r *Record) all(selects func(*Write) bool) []Write {
	now := r.time()
	r.mu.Lock()
	writes := make([]Write, 0, len(r.writes))
	for key, w := range r.writes {
		if r.isOld(w, now) {
			delete(r.writes, key)
			continue
		}
		writes = append(writes, *w)
	}
	r.mu.Unlock()
	writes = slices.DeleteFunc(writes, func(w Write) bool { return !selects(&w) })
	slices.SortFunc(writes, func(a, b Write) int {
		return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Namespace, b.Namespace),
			cmp.Compare(a.Name, b.Name), cmp.Compare(a.User, b.User), slices.Compare(a.Fields, b.Fields))
	})
	return writes
}

// short returns the beginning of a text.
func short(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + "…"
}

// reasons say in words what each protection refuses.
var reasons = map[protection.Protection]string{
	protection.ImmutableField:     "the definition makes the field immutable",
	protection.BuiltInField:       "Kubernetes fixes the field",
	protection.ImmutableConfig:    "the ConfigMap or Secret is immutable",
	protection.ImmutableParameter: "the OperatorVersion makes the parameter immutable",
	protection.Policy:             "an ImmutabilityPolicy forbids the change",
	protection.KeptObject:         "the object must be kept",
	protection.Definition:         "stored objects would lose data or become invalid",
	protection.Ownership:          "another client owns the field",
}
