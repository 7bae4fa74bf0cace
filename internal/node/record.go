package node

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/internal/projection"
	"holdfast.dev/holdfast/internal/references"
)

// Record holds what an agent knows about one pod. A record that was passed to
// setRecord or State must not be changed; change a clone instead.
type Record struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid"`
	// Sources are the objects that the volumes were made from.
	Sources []Source `json:"sources,omitempty"`
	// Volumes are the volumes of the pod that have files, by name.
	Volumes map[string]Volume `json:"volumes,omitempty"`
	// Finished is when the agent saw first that the pod succeeded or failed, or nil.
	Finished *time.Time `json:"finished,omitempty"`
	// Template is what the agent needs to write the volumes again without the server.
	Template *Template `json:"template,omitempty"`
}

// Source is the version of an object that a pod got.
type Source struct {
	Ref             `json:",inline"`
	UID             types.UID `json:"uid"`
	ResourceVersion string    `json:"resourceVersion"`
	// Immutable is true if the pod is pinned to this content.
	Immutable bool `json:"immutable,omitempty"`
	// Digest is the digest of the content; for a Secret it is an HMAC.
	Digest string `json:"digest"`
}

// Volume is the state of one volume of a pod.
type Volume struct {
	// Sources are the objects that the volume references, whether they exist or not.
	Sources []Ref `json:"sources,omitempty"`
	// Digest is the digest of the current files. The record is saved before the files
	// are replaced, so after a crash the volume may still have the files before that;
	// Previous is their digest.
	Digest   string `json:"digest"`
	Previous string `json:"previous,omitempty"`
	// Secret is true if the files contain Secrets or tokens.
	Secret secrecy `json:"secret,omitempty"`
	// Size is the space that the files take in bytes.
	Size int64 `json:"size,omitempty"`
	// Projected is when the files last changed.
	Projected time.Time `json:"projected"`
	// Notify is true if the on-change hook has yet to run for the last change.
	Notify bool `json:"notify,omitempty"`
	// Tokens holds the service account tokens among the files, by path.
	Tokens map[string]Token `json:"tokens,omitempty"`
}

// Token holds when a service account token was issued, is replaced and expires. The
// token itself is stored only in its file.
type Token struct {
	Issued  time.Time `json:"issued,omitzero"`
	Refresh time.Time `json:"refresh"`
	Expires time.Time `json:"expires"`
}

func (t Token) equal(other Token) bool {
	return t.Refresh.Equal(other.Refresh) && t.Expires.Equal(other.Expires)
}

func (r *Record) podName() cache.ObjectName { return cache.NewObjectName(r.Namespace, r.Name) }

// source returns the object that the pod got for a reference, or nil.
func (r *Record) source(ref Ref) *Source {
	for i := range r.Sources {
		if r.Sources[i].Ref == ref {
			return &r.Sources[i]
		}
	}
	return nil
}

// pins returns the immutable objects whose content the pod has, in the order of kinds and names.
func (r *Record) pins() []references.Pin {
	var pins []references.Pin
	for _, source := range r.Sources {
		if !source.Immutable {
			continue
		}
		kind := references.ConfigMap
		if source.Kind == projection.Secret {
			kind = references.Secret
		}
		pins = append(pins, references.Pin{Kind: kind, Name: source.Name, UID: source.UID})
	}
	slices.SortFunc(pins, func(a, b references.Pin) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name))
	})
	return pins
}

// setSource adds or replaces a source, and reports whether the record changed.
func (r *Record) setSource(source Source) bool {
	before := r.source(source.Ref)
	switch {
	case before == nil:
		r.Sources = append(r.Sources, source)
	case *before == source:
		return false
	default:
		*before = source
	}
	return true
}

// dropSource removes a source, and reports whether the record changed.
func (r *Record) dropSource(ref Ref) bool {
	before := len(r.Sources)
	r.Sources = slices.DeleteFunc(r.Sources, func(s Source) bool { return s.Ref == ref })
	return len(r.Sources) != before
}

// clone returns a copy that may be changed. Its Volumes is never nil.
func (r *Record) clone() *Record {
	c := *r
	c.Sources = slices.Clone(r.Sources)
	c.Volumes = maps.Clone(r.Volumes)
	if c.Volumes == nil {
		c.Volumes = map[string]Volume{}
	}
	return &c
}

// DamagedError reports the records that cannot be read. The agent syncs these pods
// without a record, as if they were new.
type DamagedError struct {
	Pods []types.UID
	Err  error
}

// Error implements error.
func (e *DamagedError) Error() string { return e.Err.Error() }

// Unwrap returns the errors of all records that cannot be read.
func (e *DamagedError) Unwrap() error { return e.Err }

// isSecret reports whether a volume contains Secrets or tokens.
func isSecret(refs []projection.Reference, tokens int) secrecy {
	return tokens > 0 || secrecy(slices.ContainsFunc(refs, func(r projection.Reference) bool { return r.Kind == projection.Secret }))
}
