package generate

import (
	"errors"
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/controller-tools/pkg/loader"
)

// known has, for each marker about updates or pruning, the form to write.
func known() map[string]string {
	forms := maps.Clone(names)
	forms[kubernetesImmutable], forms[kubernetesUpdate] = "+"+kubernetesImmutable, "+"+kubernetesUpdate+"=NoSet,NoUnset,..."
	return forms
}

// misspelled reports comments that look like a marker but are none. Such a comment has no effect,
// and its author thinks that the field is protected.
func (r *resolver) misspelled() {
	s := newSpelling()
	for _, pkg := range r.packages() {
		for _, file := range pkg.Syntax {
			var code map[int]token.Pos // computed for files with markers only
			for _, comments := range file.Comments {
				for _, comment := range comments.List {
					text, isLine := markerText(comment)
					if text == "" || !s.isSimilar(text) {
						continue
					}
					if code == nil {
						code = codeLines(pkg.Fset, file)
					}
					first, hasCode := code[pkg.Fset.Position(comment.Pos()).Line]
					err := s.check(text)
					switch {
					case err != nil:
					case !isLine:
						err = errors.New("+" + text + " in a comment of this form has no effect: write it after //")
					case hasCode && first < comment.Pos():
						err = errors.New("+" + text + " at the end of a line has no effect: write it on a line above")
					}
					if err != nil {
						pkg.AddError(loader.ErrFromNode(err, comment))
					}
				}
			}
		}
	}
}

// markerText returns the text after the plus sign with which a comment begins, empty if there is none.
// isLine is false for a comment between /* and */, which controller-tools does not read.
func markerText(comment *ast.Comment) (text string, isLine bool) {
	text, isLine = strings.CutPrefix(comment.Text, "//")
	if !isLine {
		text = strings.TrimSuffix(strings.TrimPrefix(comment.Text, "/*"), "*/")
	}
	for line := range strings.Lines(text) {
		if found, ok := strings.CutPrefix(strings.Trim(line, "* \t\r\n"), "+"); ok {
			return found, isLine
		}
	}
	return "", isLine
}

// codeLines returns the position of the first node that begins or ends in each line of a file.
func codeLines(files *token.FileSet, file *ast.File) map[int]token.Pos {
	first := map[int]token.Pos{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n.(type) {
		case nil, *ast.CommentGroup, *ast.Comment:
			return false
		}
		for _, at := range []token.Pos{n.Pos(), n.End()} {
			line := files.Position(at).Line
			if known, ok := first[line]; !ok || at < known {
				first[line] = at
			}
		}
		return true
	})
	return first
}

// spelling knows the markers by their letters.
type spelling map[string]string

func newSpelling() spelling {
	s := spelling{letters("immutableKeys"): "+immutable=keys", letters("immutableTrue"): "+immutable"}
	for name, form := range known() {
		s[letters(name)] = form
	}
	s[letters("immutable")] = "+immutable"
	return s
}

// letters returns the letters and digits of a name in lower case, each once where it is repeated: the
// letters of +Immutable, +imutable and + immutable: are the same.
func letters(name string) string {
	only := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(name))
	return string(slices.Compact([]byte(only)))
}

// word returns the first word of a marker, which ends before its argument.
func word(text string) string {
	text = strings.TrimSpace(text)
	if i := strings.IndexAny(text, "=( \t"); i >= 0 {
		text = text[:i]
	}
	return text
}

func (s spelling) isSimilar(text string) bool {
	_, ok := s[letters(word(text))]
	return ok
}

// check returns an error for a text such as Immutable, immutable: true or k8s:Update=NoSet. It has the
// letters of a marker, but controller-tools reads another name.
func (s spelling) check(text string) error {
	name, _, _ := strings.Cut(text, "=")
	if _, ok := known()[name]; ok {
		return nil
	}
	// ParseMarker reports names that go on after a colon, such as noPrune:deep=true.
	if before, _, ok := strings.Cut(name, ":"); ok && names[before] != "" && strings.Contains(text, "=") {
		return nil
	}
	return errors.New("+" + text + " is no marker: write " + s[letters(word(text))])
}
