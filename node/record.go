package node

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/projection"
)

// Record is what an agent remembers of a pod. A record that is shared is not
// changed any more; clone makes one that may be.
type Record struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid"`
	// Sources are the objects that the volumes were made of.
	Sources []Source `json:"sources,omitempty"`
	// Volumes are the volumes that were projected, by name.
	Volumes map[string]Volume `json:"volumes,omitempty"`
}

// Source is an object as a pod got it.
type Source struct {
	Ref             `json:",inline"`
	UID             types.UID `json:"uid"`
	ResourceVersion string    `json:"resourceVersion"`
	// Immutable says that the pod is pinned to this content.
	Immutable bool `json:"immutable,omitempty"`
	// Digest is that of the content, for Secrets an HMAC with the node's key.
	Digest string `json:"digest"`
}

// Volume is what a volume was made to be.
type Volume struct {
	Sources []Ref `json:"sources,omitempty"`
	// Digest is that of the files; Previous that of those they were to replace,
	// which a crash may have left in place.
	Digest   string  `json:"digest"`
	Previous string  `json:"previous,omitempty"`
	Secret   secrecy `json:"secret,omitempty"`
	// Projected is when the files last changed.
	Projected time.Time `json:"projected"`
	// Notify says that the hook for this change has not run yet.
	Notify bool `json:"notify,omitempty"`
	// Tokens are the tokens among the files, by path.
	Tokens map[string]Token `json:"tokens,omitempty"`
}

// Token is when a token is due. The token itself is only in its file.
type Token struct {
	Refresh time.Time `json:"refresh"`
	Expires time.Time `json:"expires"`
}

func (t Token) equal(other Token) bool {
	return t.Refresh.Equal(other.Refresh) && t.Expires.Equal(other.Expires)
}

func (r *Record) key() cache.ObjectName { return cache.NewObjectName(r.Namespace, r.Name) }

// source is the object that the pod got for a reference, or nil.
func (r *Record) source(ref Ref) *Source {
	for i := range r.Sources {
		if r.Sources[i].Ref == ref {
			return &r.Sources[i]
		}
	}
	return nil
}

// setSource remembers an object, and reports whether that is news.
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

// dropSource forgets an object, and reports whether it was known.
func (r *Record) dropSource(ref Ref) bool {
	before := len(r.Sources)
	r.Sources = slices.DeleteFunc(r.Sources, func(s Source) bool { return s.Ref == ref })
	return len(r.Sources) != before
}

func (r *Record) clone() *Record {
	c := *r
	c.Sources = slices.Clone(r.Sources)
	c.Volumes = maps.Clone(r.Volumes)
	if c.Volumes == nil {
		c.Volumes = map[string]Volume{}
	}
	return &c
}

// DamagedError says which records cannot be read, and why not. The pods, if they
// are still there, are looked at anew.
type DamagedError struct {
	Pods []types.UID
	Err  error
}

// Error implements error.
func (e *DamagedError) Error() string { return e.Err.Error() }

// Unwrap returns the reasons.
func (e *DamagedError) Unwrap() error { return e.Err }

// isSecret reports whether a volume's files are secret: Secrets, and tokens.
func isSecret(refs []projection.Reference, tokens int) secrecy {
	return tokens > 0 || secrecy(slices.ContainsFunc(refs, func(r projection.Reference) bool { return r.Kind == projection.Secret }))
}
