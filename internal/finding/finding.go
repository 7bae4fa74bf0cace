// Package finding has the results of commands that judge files, and their output
// formats: text for people, JSON for programs, SARIF for code scanning, and the
// workflow commands of GitHub Actions.
//
// A finding is one thing that a command found, with its place in a file. A rule is a
// kind of finding; its id is part of the interface, so that users can ignore it. A report
// is all findings of one run, and the documents that the command skipped.
//
//	report := finding.Report{Rules: rules, Findings: found}
//	err := report.Write(os.Stdout, finding.SARIF)
//
// The output depends on the report only: it has no times and no absolute paths.
package finding

import (
	"cmp"
	"fmt"
	"slices"

	"holdfast.dev/holdfast/internal/manifest"
)

// Severity says how bad a finding is.
type Severity uint8

const (
	// Note is for information.
	Note Severity = iota
	// Warning is something that is accepted but may not be what the author expects.
	Warning
	// Error is something that is refused.
	Error
)

// String returns the name of the severity: note, warning or error.
func (s Severity) String() string {
	switch s {
	case Error:
		return "error"
	case Warning:
		return "warning"
	}
	return "note"
}

// Rule is a kind of finding.
type Rule struct {
	ID      string
	Summary string
}

// Finding is one thing that a command found.
type Finding struct {
	Rule     string
	Severity Severity
	// File is the name of the file, and Position the place in it. A finding about an object of a server has none.
	File string
	manifest.Position
	// Object is the object of the finding, such as widgets.example.com.
	Object string
	// Path is the field of the object, empty for the object itself.
	Path    string
	Message string
	// Reason says why it matters. It is empty if the message says so already.
	Reason string
	// Fix says how to mend it. It is empty if the message says so already.
	Fix string
	// Edits mend it without changing what the object means. There are none if the
	// author has to decide.
	Edits []manifest.Edit
}

// Report is the findings of one run.
type Report struct {
	// Rules are the rules of the command, for formats that list them.
	Rules    []Rule
	Findings []Finding
	// Version is the version of the program.
	Version string
	// Objects and Files are the numbers of judged objects, and of the files they are in.
	Objects, Files int
	// Noun is the name of the judged objects: definition.
	Noun string
	// Skipped are the documents that the command knows and does not judge.
	Skipped []Skipped
	// Stored is set by a command that judges the objects of a server. Noun and Files are then empty.
	Stored *Stored
}

// Stored is the numbers of a command that judges the objects of a server.
type Stored struct {
	Definitions int `json:"definitions"`
	Objects     int `json:"objects"`
	Invalid     int `json:"invalid"`
}

// Sort sorts findings by their place, those of one place by severity. Files keep their
// order.
func Sort(findings []Finding) {
	slices.SortStableFunc(findings, func(a, b Finding) int {
		if a.File != b.File {
			return 0
		}
		return cmp.Or(
			cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(b.Severity, a.Severity),
			cmp.Compare(a.Path, b.Path), cmp.Compare(a.Message, b.Message),
		)
	})
}

// Count returns the number of findings of a severity.
func (r *Report) Count(severity Severity) int {
	count := 0
	for _, f := range r.Findings {
		if f.Severity == severity {
			count++
		}
	}
	return count
}

// Worst reports whether there is a finding of a severity or a worse one.
func (r *Report) Worst(severity Severity) bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Severity >= severity })
}

// Summary returns the report in one line.
func (r *Report) Summary() string {
	if r.Stored != nil {
		return fmt.Sprintf("%s with %s: %d invalid", Quantity(r.Stored.Definitions, "definition"), Quantity(r.Stored.Objects, "object"), r.Stored.Invalid)
	}
	text := fmt.Sprintf("%s in %s: %s, %s", Quantity(r.Objects, r.Noun), Quantity(r.Files, "file"),
		Quantity(r.Count(Error), "error"), Quantity(r.Count(Warning), "warning"))
	if notes := r.Count(Note); notes > 0 {
		text += ", " + Quantity(notes, "note")
	}
	if len(r.Skipped) > 0 {
		text += "; skipped " + SkippedText(r.Skipped)
	}
	return text
}

// Quantity returns a number with a noun: 1 file, 2 files.
func Quantity(count int, noun string) string {
	if count == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", count, noun)
}
