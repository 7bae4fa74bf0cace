package pack

import (
	"errors"
	"slices"
)

// Severity tells whether a finding prevents the installation of the package.
type Severity string

const (
	// Failure is a finding with which the package cannot be installed.
	Failure Severity = "error"
	// Warning is a finding with which the package can be installed.
	Warning Severity = "warning"
)

// Finding is one problem of a package.
type Finding struct {
	Severity Severity
	// Path is the file, followed by the field in it if the finding is about one.
	Path    string
	Message string
}

// String returns the path and the message.
func (f Finding) String() string { return f.Path + ": " + f.Message }

// Findings is a list of findings. Verify returns failures first.
type Findings []Finding

// Err returns all failures as one error, nil if there are none.
func (f Findings) Err() error {
	var all []error
	for _, finding := range f {
		if finding.Severity == Failure {
			all = append(all, errors.New(finding.String()))
		}
	}
	return errors.Join(all...)
}

// In puts a folder in front of the path of each finding, for a bundled package. The
// folder "." changes nothing.
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

// failuresFirst sorts failures before warnings and otherwise keeps the order.
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
