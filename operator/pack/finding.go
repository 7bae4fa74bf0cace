package pack

import (
	"errors"
	"slices"
)

// Severity says whether a package can be installed with a finding.
type Severity string

// The severities.
const (
	Failure Severity = "error"
	Warning Severity = "warning"
)

// Finding is one thing that is wrong with a package.
type Finding struct {
	Severity Severity
	// Path is the file, and where there is one the field in it.
	Path    string
	Message string
}

// String is the path and the message.
func (f Finding) String() string { return f.Path + ": " + f.Message }

// Findings are all of them, failures first.
type Findings []Finding

// Err joins the failures; nil if there are none.
func (f Findings) Err() error {
	var all []error
	for _, finding := range f {
		if finding.Severity == Failure {
			all = append(all, errors.New(finding.String()))
		}
	}
	return errors.Join(all...)
}

// In are the findings of a package in a folder of another; "." is no folder.
func (f Findings) In(folder string) Findings {
	if folder == "." {
		return f
	}
	for i := range f {
		f[i].Path = folder + "/" + f[i].Path
	}
	return f
}

func (f *Findings) fail(path, message string) { *f = append(*f, Finding{Failure, path, message}) }

func (f *Findings) warn(path, message string) { *f = append(*f, Finding{Warning, path, message}) }

// failuresFirst keeps the order of the package otherwise.
func (f Findings) failuresFirst() Findings {
	slices.SortStableFunc(f, func(a, b Finding) int {
		if a.Severity == b.Severity {
			return 0
		}
		if a.Severity == Failure {
			return -1
		}
		return 1
	})
	return f
}
