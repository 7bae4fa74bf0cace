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

// Divergence is a path that the served versions of a definition mark
// differently. The server checks the markers of all versions on every write, so a
// marker of one version also refuses writes through the others.
type Divergence struct {
	Path *value.Path
	// Markers has the marker of each version, in the order of the versions.
	Markers []VersionMarker
}

// VersionMarker is the marker of one version. It is Free if the version has no
// marker there, or does not have the path.
type VersionMarker struct {
	Version string
	Marker  Marker
}

// String returns the text of the warning.
func (d Divergence) String() string {
	said := make([]string, len(d.Markers))
	for i, m := range d.Markers {
		said[i] = m.Marker.String() + " in " + m.Version
	}
	return fmt.Sprintf("%s: %s; the strictest holds in every version", Field(d.Path), strings.Join(said, ", "))
}

// Divergent returns every path that the versions mark differently, in the order of
// the schema. A path below an immutable node counts as immutable.
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
		// If no version has a marker here, they differ only because of a node
		// above, which has its own finding.
		if declared && differs {
			found = append(found, Divergence{at.path, markers})
		}
	})
	return found
}
