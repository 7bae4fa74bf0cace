package revocation

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

// List is a list of entries, indexed by what they match. A List is never changed.
type List struct {
	serials, credentials map[string]Entry
	users, nodes         map[string]Entry
	// unreadableAt is set if the stored list cannot be parsed; see newUnreadable.
	unreadableAt time.Time
}

// NewList returns the list of validated entries.
func NewList(entries []Entry) *List {
	l := &List{
		serials: map[string]Entry{}, credentials: map[string]Entry{},
		users: map[string]Entry{}, nodes: map[string]Entry{},
	}
	for _, entry := range entries {
		switch {
		case entry.Serial != "":
			l.serials[entry.Serial] = entry
		case entry.Credential != "":
			l.credentials[entry.Credential] = entry
		case entry.User != "":
			addWidest(l.users, entry.User, entry)
		case entry.Node != "":
			addWidest(l.nodes, entry.Node, entry)
		}
	}
	return l
}

// newUnreadable returns the list of a server that cannot parse the stored list when it starts.
// It revokes every credential, because each of them may be on the stored list, except certificates
// of the administrator that are issued from now on. The server then issues a new certificate for the
// administrator. With it the administrator can correct the stored list.
func newUnreadable(now time.Time) *List {
	l := NewList(nil)
	// Certificates have whole seconds.
	l.unreadableAt = now.Truncate(time.Second).Add(time.Second)
	return l
}

func (l *List) isUnreadable() bool { return !l.unreadableAt.IsZero() }

// addWidest adds an entry, unless the index has one for the same name that matches more
// credentials.
func addWidest(index map[string]Entry, name string, entry Entry) {
	known, found := index[name]
	if found && (known.IssuedBefore == nil || entry.IssuedBefore != nil && entry.IssuedBefore.Before(known.IssuedBefore)) {
		return
	}
	index[name] = entry
}

// read decodes a stored list. It leaves out invalid entries, and the error names them. If the text
// is no list at all, it returns nil and an error.
func read(text string) (*List, error) {
	var entries []Entry
	if err := yaml.Unmarshal([]byte(text), &entries); err != nil {
		return nil, fmt.Errorf("%s: %w", Key, err)
	}
	var valid []Entry
	var failed []error
	for i := range entries {
		if errs := entries[i].complete(field.NewPath(Key).Index(i)); len(errs) > 0 {
			failed = append(failed, errs.ToAggregate())
			continue
		}
		valid = append(valid, entries[i])
	}
	return NewList(valid), errors.Join(failed...)
}

// Find returns the entry that revokes a credential, if there is one.
func (l *List) Find(c Credential) (Entry, bool) {
	if entry, found := l.serials[c.Serial]; found && c.Serial != "" {
		return entry, true
	}
	if entry, found := l.credentials[c.ID]; found && c.ID != "" {
		return entry, true
	}
	if entry, found := l.users[c.User]; found && c.User != "" && entry.covers(c.Issued) {
		return entry, true
	}
	if entry, found := l.nodes[c.Node]; found && c.Node != "" && entry.covers(c.Issued) {
		return entry, true
	}
	return Entry{}, false
}

// covers reports whether an entry matches a credential that was issued at a time. If the time
// is not known, the entry matches.
func (e Entry) covers(issued time.Time) bool {
	return e.IssuedBefore == nil || issued.IsZero() || issued.Before(e.IssuedBefore.Time)
}

// validFrom returns the time before which the list revokes all credentials of the user: the latest
// issuedBefore in an entry for the user, or for the node that the user is. It is zero if there is
// none. If the stored list cannot be parsed, it is the time of newUnreadable.
func (l *List) validFrom(user string) time.Time {
	from := l.unreadableAt
	for _, entry := range []Entry{l.users[user], l.nodes[nodeOf(user)]} {
		if entry.IssuedBefore != nil && entry.IssuedBefore.After(from) {
			from = entry.IssuedBefore.Time
		}
	}
	return from
}
