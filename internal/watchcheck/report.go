package watchcheck

import (
	"fmt"
	"strings"
)

// Rule is one of the rules of the package.
type Rule string

// The rules are described in the comment of the package.
const (
	Ordered      Rule = "ordered"
	Unique       Rule = "unique"
	Resumable    Rule = "resumable"
	Reliable     Rule = "reliable"
	Bookmarkable Rule = "bookmarkable"
	Filtered     Rule = "filtered"
	Previous     Rule = "previous value"
	Content      Rule = "content"
)

// Violation says which rule a stream breaks, and where.
type Violation struct {
	Rule Rule
	Text string
	// Trace are the last steps of the stream.
	Trace []string
}

func (v Violation) String() string {
	return fmt.Sprintf("not %s: %s\n  after %s", v.Rule, v.Text, strings.Join(v.Trace, "\n        "))
}

// Report is the result of a check.
type Report struct {
	Violations []Violation
	// Lists, Events, Bookmarks and Watches count what was checked. Replays counts events of replacements that a resumed watch showed again.
	Lists, Events, Bookmarks, Watches, Replays int
	// Unknown counts the lists and events that lie before the begin of the truth.
	Unknown int
}

// Add adds the counts and violations of another report.
func (r *Report) Add(other Report) {
	r.Violations = append(r.Violations, other.Violations...)
	r.Lists += other.Lists
	r.Events += other.Events
	r.Bookmarks += other.Bookmarks
	r.Watches += other.Watches
	r.Replays += other.Replays
	r.Unknown += other.Unknown
}

func (r Report) String() string {
	return fmt.Sprintf("%d events, %d bookmarks and %d lists of %d watches, %d events again after a replacement, %d before the known history",
		r.Events, r.Bookmarks, r.Lists, r.Watches, r.Replays, r.Unknown)
}
