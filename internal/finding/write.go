package finding

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Format is an output format.
type Format string

// The output formats.
const (
	Text   Format = "text"
	JSON   Format = "json"
	SARIF  Format = "sarif"
	GitHub Format = "github"
)

// Formats are all output formats.
var Formats = []Format{Text, JSON, SARIF, GitHub}

// Parse returns the format with a name.
func Parse(name string) (Format, error) {
	if format := Format(name); slices.Contains(Formats, format) {
		return format, nil
	}
	return "", fmt.Errorf("output %q: must be text, json, sarif or github", name)
}

// Write writes the report.
func (r *Report) Write(out io.Writer, format Format) error {
	switch format {
	case JSON:
		return r.writeJSON(out)
	case SARIF:
		return r.writeSARIF(out)
	case GitHub:
		return r.writeGitHub(out)
	}
	return r.writeText(out)
}

// text returns the path and the message.
func (f Finding) text() string {
	if f.Path == "" {
		return f.Message
	}
	return f.Path + ": " + f.Message
}

// place returns the place in the file, or the object if there is no file.
func (f Finding) place() string {
	if f.File == "" {
		return f.Object
	}
	return fmt.Sprintf("%s:%d:%d", f.File, f.Line, f.Column)
}

// details returns the lines below the message: the reason and the fix.
func (f Finding) details() []string {
	var lines []string
	if f.Reason != "" {
		lines = append(lines, "reason: "+f.Reason)
	}
	switch {
	case len(f.Edits) > 0:
		lines = append(lines, "fix: "+f.Fix+" (--fix does this)")
	case f.Fix != "":
		lines = append(lines, "fix: "+f.Fix)
	}
	return lines
}

func (r *Report) writeText(out io.Writer) error {
	for _, f := range r.Findings {
		if _, err := fmt.Fprintf(out, "%s: %s: %s [%s]\n", f.place(), f.Severity, f.text(), f.Rule); err != nil {
			return err
		}
		for _, line := range f.details() {
			if _, err := fmt.Fprintf(out, "    %s\n", line); err != nil {
				return err
			}
		}
	}
	return nil
}

// findingJSON is a finding in JSON.
type findingJSON struct {
	Rule     string `json:"rule"`
	Severity string `json:"severity"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Object   string `json:"object,omitempty"`
	Path     string `json:"path,omitempty"`
	Message  string `json:"message"`
	Reason   string `json:"reason,omitempty"`
	Fix      string `json:"fix,omitempty"`
	Fixable  bool   `json:"fixable,omitempty"`
}

func (r *Report) writeJSON(out io.Writer) error {
	found := []findingJSON{}
	for _, f := range r.Findings {
		found = append(found, findingJSON{
			Rule: f.Rule, Severity: f.Severity.String(), File: f.File, Line: f.Line, Column: f.Column,
			Object: f.Object, Path: f.Path, Message: f.Message, Reason: f.Reason, Fix: f.Fix, Fixable: len(f.Edits) > 0,
		})
	}
	if r.Stored != nil {
		return encode(out, struct {
			Findings []findingJSON `json:"findings"`
			*Stored
		}{found, r.Stored})
	}
	return encode(out, struct {
		Findings []findingJSON `json:"findings"`
		Objects  int           `json:"objects"`
		Files    int           `json:"files"`
		Errors   int           `json:"errors"`
		Warnings int           `json:"warnings"`
		Notes    int           `json:"notes"`
		Skipped  *skippedJSON  `json:"skipped,omitempty"`
	}{found, r.Objects, r.Files, r.Count(Error), r.Count(Warning), r.Count(Note), r.skippedJSON()})
}

func encode(out io.Writer, v any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}

// writeGitHub writes workflow commands, which GitHub shows beside the lines of a change.
func (r *Report) writeGitHub(out io.Writer) error {
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	for _, f := range r.Findings {
		command := f.Severity.String()
		if f.Severity == Note {
			command = "notice"
		}
		message := strings.Join(append([]string{f.text()}, f.details()...), "\n")
		at := fmt.Sprintf("file=%s,line=%d,col=%d,", property.Replace(f.File), f.Line, f.Column)
		if f.File == "" {
			at, message = "", f.Object+": "+message
		}
		if _, err := fmt.Fprintf(out, "::%s %stitle=%s::%s\n", command, at, property.Replace(f.Rule), data.Replace(message)); err != nil {
			return err
		}
	}
	return nil
}
