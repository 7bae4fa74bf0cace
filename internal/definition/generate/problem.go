package generate

import (
	"fmt"
	"go/token"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/packages"
	"sigs.k8s.io/controller-tools/pkg/loader"
)

// Problem is something wrong in Go source.
type Problem struct {
	// Position is the file, line and column, empty if there is none.
	Position string
	Message  string
}

// String returns the position and the message.
func (p Problem) String() string {
	if p.Position == "" {
		return p.Message
	}
	return p.Position + ": " + p.Message
}

// Problems are all problems that were found.
type Problems []Problem

// Error returns a line for each problem.
func (p Problems) Error() string {
	lines := make([]string, 0, len(p))
	for _, problem := range p {
		lines = append(lines, problem.String())
	}
	return strings.Join(lines, "\n")
}

// relativeTo makes file names relative to a directory, where they are below it.
func (p Problems) relativeTo(dir string) Problems {
	base, err := filepath.Abs(dir)
	if err != nil {
		return p
	}
	prefix := base + string(os.PathSeparator)
	for i := range p {
		p[i].Position = strings.TrimPrefix(p[i].Position, prefix)
		p[i].Message = strings.ReplaceAll(p[i].Message, prefix, "")
	}
	return p
}

// problemsOf returns the errors of packages and of everything that they import, nil if there
// is none. Errors of the type checker are left out, as controller-gen does: it checks only
// the types that matter, so that the others seem to be undefined.
func problemsOf(roots []*loader.Package, dir string) error {
	var raw []*packages.Package
	for _, root := range roots {
		raw = append(raw, root.Package)
	}
	var found Problems
	seen := map[Problem]bool{}
	packages.Visit(raw, nil, func(pkg *packages.Package) {
		for _, err := range pkg.Errors {
			problem := Problem{err.Pos, err.Msg}
			if err.Pos == "-" {
				problem.Position = ""
			}
			if err.Kind != packages.TypeError && !seen[problem] {
				seen[problem] = true
				found = append(found, problem)
			}
		}
	})
	if len(found) == 0 {
		return nil
	}
	return found.relativeTo(dir)
}

// refuse adds an error about a marker to the package of the place.
func (p place) refuse(marker, message string) {
	p.pkg.AddError(p.positioned(fmt.Errorf("+%s on %s: %s", marker, p.name, message)))
}

// problem returns a problem at the place.
func (p place) problem(text, message string) Problem {
	return Problem{p.location(), fmt.Sprintf("%s on %s: %s", text, p.name, message)}
}

// positioned returns an error with the position of the place.
func (p place) positioned(err error) error { return loader.ErrFromNode(err, p) }

// location returns file, line and column of the place.
func (p place) location() string { return p.pkg.Fset.Position(p.Pos()).String() }

// Pos returns the position of the field or type itself: its markers may be in several
// comments.
func (p place) Pos() token.Pos { return p.node.Pos() }
