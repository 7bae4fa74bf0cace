package ownership

import (
	"regexp"
	"slices"
	"strings"
)

// IsWarning reports whether a text is a warning of a Verdict. A client that has judged a write itself does not
// repeat what the server, or a webhook of the server, has said already.
func IsWarning(text string) bool {
	return shortWarning.MatchString(text) || slices.ContainsFunc([]string{
		"This field is managed by ", "These fields are managed by ", clientSideOwner, unlikeApplied, unlikeAppliedMany, foreign, manyForeign,
	}, func(part string) bool { return strings.Contains(text, part) }) ||
		strings.HasPrefix(text, notChecked) || strings.HasSuffix(text, wasReplaced) || strings.HasSuffix(text, wasLost)
}

// shortWarning matches the lines that have no explanation of their own.
var shortWarning = regexp.MustCompile(`^(.+ \..+: .+ → .+|and [0-9]+ more fields? of .+)$`)
