package cacheaudit

import (
	"context"
	"time"
)

// Cache is a cache that can be compared with what it is computed from.
type Cache interface {
	// Name is the name of the cache in metrics and in the log. Several caches may have one name.
	Name() string
	// Compare compares each entry with one that it computes anew, and tells the pass of each. An error means that the other entries
	// could not be compared. It calls Rest after each entry, or after a few.
	Compare(ctx context.Context, pass *Pass) error
	// Drop removes all entries. The next reads compute them anew.
	Drop()
}

// share is how many times longer an audit rests than it works, and slice is how long it works at least before it rests.
const (
	share = 9
	slice = 5 * time.Millisecond
)

// Pass is the comparison of one cache. The zero value is ready to use.
type Pass struct {
	same, skipped, different int
	// first is the key of the first entry that differs.
	first string
	// began is when the audit began to work, after its last rest. It is zero before the first call of Rest.
	began time.Time
}

// Same counts an entry that is equal to the one computed anew.
func (p *Pass) Same() { p.same++ }

// Skip counts an entry that cannot be compared.
func (p *Pass) Skip() { p.skipped++ }

// Differ counts an entry that differs. The key names it in the log, so it has no content of an object.
func (p *Pass) Differ(key string) {
	if p.different == 0 {
		p.first = key
	}
	p.different++
}

// Judge counts an entry as the same or as different.
func (p *Pass) Judge(same bool, key string) {
	if same {
		p.Same()
	} else {
		p.Differ(key)
	}
}

// Rest waits so that the audit works only a part of the time. It returns an error if ctx ends.
func (p *Pass) Rest(ctx context.Context) error {
	if p.began.IsZero() {
		p.began = time.Now()
	}
	worked := time.Since(p.began)
	if worked < slice {
		return ctx.Err()
	}
	timer := time.NewTimer(share * worked)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		p.began = time.Now()
		return nil
	}
}
