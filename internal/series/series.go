// Package series has the names and the order of a series: the immutable ConfigMaps, or Secrets, of a namespace that have the same value of
// [Label]. Each holds one version of the same configuration, and the newest replaces the others.
//
//	series.Sort("settings", members) // the newest first
//
// A ConfigMap and a Secret are never in the same series, even if their labels are equal. Everything here is safe for concurrent use.
package series

import (
	"cmp"
	"slices"
	"time"
)

// Label has the name of the series that an object belongs to.
const Label = "holdfast.dev/series"

// Labels and annotations that say what the server deletes.
const (
	// CollectLabel with the value "unused" lets the server delete an immutable ConfigMap or Secret that no object refers to. On a
	// namespace it does so for every member of a series in it.
	CollectLabel  = "holdfast.dev/collect"
	CollectUnused = "unused"
	// AfterAnnotation is how long no object must refer to a ConfigMap or a Secret before the server deletes it, such as 30m. That of the object counts more than that of its namespace.
	AfterAnnotation = "holdfast.dev/collect-after"
	// KeepLastAnnotation is how many of the newest members of a series stay. That of the object counts more than that of its namespace.
	KeepLastAnnotation = "holdfast.dev/keep-last"
	// UnusedSinceAnnotation is set by the server on an object that it will delete: the time since when no object refers to it.
	UnusedSinceAnnotation = "holdfast.dev/unused-since"
	// RecreatedAnnotation is set by the server on an object that it had deleted as unused, and that a client created again with the same
	// content. The server does not delete it again. The value is the time at which the server noticed it.
	RecreatedAnnotation = "holdfast.dev/recreated"
)

// The defaults and bounds of the annotations.
const (
	DefaultAfter    = time.Hour
	LeastAfter      = time.Minute
	DefaultKeepLast = 3
)

// Member is a member of a series.
type Member struct {
	Name    string
	Created time.Time
}

// Sort sorts the members of a series with a name, the newest first.
func Sort(name string, members []Member) {
	slices.SortFunc(members, func(a, b Member) int { return Compare(name, a, b) })
}

// Compare returns a negative number if a is newer than b in the series with a name. Of two that were created at the same time, the one with the
// greater name is newer. An object that has the name of the series is the oldest: it is from the time before the series.
func Compare(name string, a, b Member) int {
	switch {
	case a.Name == b.Name:
		return 0
	case a.Name == name:
		return 1
	case b.Name == name:
		return -1
	}
	return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(b.Name, a.Name))
}
