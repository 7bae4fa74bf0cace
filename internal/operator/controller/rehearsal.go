package controller

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/operator/authorship"
	"holdfast.dev/holdfast/internal/operator/render"
)

// rehearsal remembers the dry runs as authors in one run of a plan, so that each is sent once
// even if the run waits and is continued. It also holds one client for each author, and renders the
// templates of the run. Only one worker at a time uses it.
type rehearsal struct {
	run       types.UID
	passed    map[[sha256.Size]byte]bool
	writers   map[string]*writer
	templates render.Run
}

// rehearsals holds the rehearsal of each Instance with a running plan.
type rehearsals struct {
	mu  sync.Mutex
	all map[cache.ObjectName]*rehearsal
}

// of returns the rehearsal of the current run of an Instance.
func (r *rehearsals) of(instance *api.Instance) *rehearsal {
	r.mu.Lock()
	defer r.mu.Unlock()
	name, run := cache.MetaObjectToName(instance), instance.Spec.PlanExecution.UID
	if known := r.all[name]; known != nil && known.run == run {
		return known
	}
	if r.all == nil {
		r.all = map[cache.ObjectName]*rehearsal{}
	}
	r.all[name] = &rehearsal{run: run, passed: map[[sha256.Size]byte]bool{}, writers: map[string]*writer{}}
	return r.all[name]
}

// forget drops the rehearsal of an Instance that has no running plan.
func (r *rehearsals) forget(name cache.ObjectName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.all, name)
}

// writer returns the client of an author. It returns a fatal error if the author is a service
// account that does not exist any more.
func (r *rehearsal) writer(ctx context.Context, c *controller, user authorship.User) (*writer, error) {
	key := userKey(user)
	if known := r.writers[key]; known != nil {
		return known, nil
	}
	// Without a user name, the request would have the rights of the controller itself.
	if !user.Known() {
		return nil, fatalf("the user is not known")
	}
	if err := c.checkAccount(ctx, user); err != nil {
		return nil, err
	}
	created, err := c.connect(user)
	if err != nil {
		return nil, err
	}
	r.writers[key] = created
	return created, nil
}

// credentialID is the extra value with the ID of the certificate or token that a user
// authenticated with. It says nothing about the rights of the user.
const credentialID = "authentication.kubernetes.io/credential-id"

// userKey returns a text that is the same for users with the same rights.
func userKey(user authorship.User) string {
	user.Extra = maps.Clone(user.Extra)
	delete(user.Extra, credentialID)
	if len(user.Extra) == 0 {
		user.Extra = nil
	}
	text, err := json.Marshal(user)
	if err != nil {
		// Text and lists of text can always be encoded.
		panic(err)
	}
	return string(text)
}

// attemptKey returns a key for a write by a user: for the content of an object that is
// applied, and for the identity of an object that is deleted.
func attemptKey(user authorship.User, object target, how attempt) ([sha256.Size]byte, error) {
	content := object.DeepCopy()
	if how.verb == deleteVerb {
		content = objectOf(api.AppliedObject{
			APIVersion: how.found.GetAPIVersion(), Kind: how.found.GetKind(), Namespace: how.found.GetNamespace(), Name: how.found.GetName(),
		})
		content.SetUID(how.found.GetUID())
	} else {
		// The same object may be applied by several steps.
		annotations := content.GetAnnotations()
		for _, name := range []string{api.PlanAnnotation, api.PhaseAnnotation, api.StepAnnotation} {
			delete(annotations, name)
		}
		content.SetAnnotations(annotations)
	}
	text, err := json.Marshal([]any{userKey(user), how.verb, content.Object})
	return sha256.Sum256(text), err
}
