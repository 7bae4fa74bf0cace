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
	// CollectLabel with the value CollectUnused lets the server delete an immutable ConfigMap or Secret that no object refers to. On a
	// namespace it does so for every member of a series in it.
	CollectLabel  = "holdfast.dev/collect"
	CollectUnused = "unused"
	// AfterAnnotation is how long no object must refer to it, such as 30m. That of the object counts more than that of its namespace.
	AfterAnnotation = "holdfast.dev/collect-after"
	// KeepLastAnnotation is how many of the newest members of a series stay. That of the object counts more than that of its namespace.
	KeepLastAnnotation = "holdfast.dev/keep-last"
	// UnusedSinceAnnotation is set by the server on an object that it will delete: the time since when no object refers to it.
	UnusedSinceAnnotation = "holdfast.dev/unused-since"
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

// Sort sorts the members of a series with a name, the newest first. Of two that were created at the same time, the one with the greater name
// comes first. An object that has the name of the series comes last: it is from the time before the series.
func Sort(name string, members []Member) {
	slices.SortFunc(members, func(a, b Member) int {
		switch {
		case a.Name == b.Name:
			return 0
		case a.Name == name:
			return 1
		case b.Name == name:
			return -1
		}
		return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(b.Name, a.Name))
	})
}
