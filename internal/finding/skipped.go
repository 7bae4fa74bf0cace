package finding

import (
	"fmt"
	"strings"
)

// Skipped is a document that a command does not judge.
type Skipped struct {
	As   SkippedAs
	File string
	Line int
	// Reason says why it is skipped.
	Reason string
}

// SkippedAs is the kind of a skipped document.
type SkippedAs uint8

const (
	// Patch is a part of an object, which kustomize merges into a whole one.
	Patch SkippedAs = iota
	// Template is a document that is YAML only after a template engine has run.
	Template
)

// String returns patch or template.
func (s SkippedAs) String() string {
	if s == Template {
		return "template"
	}
	return "patch"
}

// SkippedText returns the numbers of skipped documents: 2 patches, 1 template. It is empty if there are none.
func SkippedText(skipped []Skipped) string {
	patches, templates := countSkipped(skipped)
	var parts []string
	switch {
	case patches == 1:
		parts = append(parts, "1 patch")
	case patches > 1:
		parts = append(parts, fmt.Sprintf("%d patches", patches))
	}
	if templates > 0 {
		parts = append(parts, Quantity(templates, "template"))
	}
	return strings.Join(parts, ", ")
}

func countSkipped(skipped []Skipped) (patches, templates int) {
	for _, s := range skipped {
		if s.As == Template {
			templates++
		} else {
			patches++
		}
	}
	return patches, templates
}

// skippedJSON is the skipped documents in JSON.
type skippedJSON struct {
	Patches   int                   `json:"patches"`
	Templates int                   `json:"templates"`
	Documents []skippedDocumentJSON `json:"documents"`
}

type skippedDocumentJSON struct {
	As     string `json:"as"`
	File   string `json:"file"`
	Line   int    `json:"line"`
	Reason string `json:"reason"`
}

// skippedJSON returns nil if nothing was skipped.
func (r *Report) skippedJSON() *skippedJSON {
	if len(r.Skipped) == 0 {
		return nil
	}
	out := &skippedJSON{}
	out.Patches, out.Templates = countSkipped(r.Skipped)
	for _, s := range r.Skipped {
		out.Documents = append(out.Documents, skippedDocumentJSON{s.As.String(), s.File, s.Line, s.Reason})
	}
	return out
}
