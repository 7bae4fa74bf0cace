package immutability

import (
	"fmt"
	"strings"

	"holdfast.dev/holdfast/schema"
	"holdfast.dev/holdfast/value"
)

// Version is one served version of a definition.
type Version struct {
	Name   string
	Schema *schema.Schema
}

// Divergence is a place that the served versions of a definition mark
// differently. All of them are checked on every write, so the promise of one
// holds in all, and users of the others do not see why.
type Divergence struct {
	Path *value.Path
	// Markers are what each version says, in the order they were given in.
	Markers []VersionMarker
}

// VersionMarker is the marker of one version; Free for none, or for a place that
// the version does not have.
type VersionMarker struct {
	Version string
	Marker  Marker
}

// String is the warning for a person.
func (d Divergence) String() string {
	said := make([]string, len(d.Markers))
	for i, m := range d.Markers {
		said[i] = m.Marker.String() + " in " + m.Version
	}
	return fmt.Sprintf("%s: %s; the strictest holds in every version", Field(d.Path), strings.Join(said, ", "))
}

// Divergent finds every place that the versions mark differently, in the order of
// the schema. A place that an immutable node around it holds counts as immutable.
func Divergent(versions []Version) []Divergence {
	nodes := make([]*schema.Schema, len(versions))
	for i, v := range versions {
		nodes[i] = v.Schema
	}
	var found []Divergence
	align(nodes, func(at alignment) {
		markers := make([]VersionMarker, len(versions))
		declared, differs := false, false
		for i, v := range versions {
			markers[i] = VersionMarker{v.Name, at.marker(i)}
			declared = declared || !at.covered[i] && MarkerOf(at.nodes[i]) != Free
			differs = differs || markers[i].Marker != markers[0].Marker
		}
		// Where nobody says anything, versions differ only because of a node
		// further up, which has its own finding.
		if declared && differs {
			found = append(found, Divergence{at.path, markers})
		}
	})
	return found
}
