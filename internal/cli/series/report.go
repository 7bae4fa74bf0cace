package series

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// report is what a roll or a rollback does, for -o json and -o yaml.
type report struct {
	Series    string `json:"series"`
	Namespace string `json:"namespace"`
	// Member is the object that the references point to afterwards.
	Member string `json:"member"`
	// Created says that the member is new.
	Created   bool             `json:"created"`
	DryRun    string           `json:"dryRun,omitempty"`
	Workloads []workloadReport `json:"workloads"`
	remaining
}

// workloadReport is what happens to one workload.
type workloadReport struct {
	Name       string            `json:"name"`
	References []referenceReport `json:"references"`
	// SentWhole are the atomic lists and maps around references, which are sent with all that is in them.
	SentWhole []string `json:"sentWhole,omitempty"`
	// MissingKeys are keys that the references need and that the member does not have.
	MissingKeys []string `json:"missingKeys,omitempty"`
	Restarts    bool     `json:"restarts"`
	Note        string   `json:"note"`
}

// referenceReport is one reference that follows.
type referenceReport struct {
	Path string `json:"path"`
	From string `json:"from"`
	To   string `json:"to"`
	// Managers are the field managers that owned the reference before.
	Managers []string `json:"managers,omitempty"`
	// Removed says that the entry with the old name is removed, because the name is its key.
	Removed bool `json:"removed,omitempty"`
}

// report returns what an edit does.
func (e *edit) report() workloadReport {
	r := workloadReport{Name: e.String(), References: []referenceReport{}}
	for _, c := range e.changes {
		r.References = append(r.References, referenceReport{
			Path: c.path.String(), From: c.from, To: c.to, Managers: c.managers, Removed: c.replaced != nil,
		})
		whole := strings.TrimPrefix(c.sent.path.String(), ".")
		if c.sent.whole && c.replaced == nil && !slices.Contains(r.SentWhole, whole) {
			r.SentWhole = append(r.SentWhole, whole)
		}
	}
	r.Restarts, r.Note = e.restart()
	return r
}

// print prints what happens to a workload, in lines.
func (r workloadReport) print(out io.Writer) {
	for _, reference := range r.References {
		fmt.Fprintf(out, "%s: %s: %s -> %s", r.Name, reference.Path, reference.From, reference.To)
		if len(reference.Managers) > 0 {
			fmt.Fprintf(out, " (set by %s before)", strings.Join(reference.Managers, ", "))
		}
		fmt.Fprintln(out)
		if reference.Removed {
			fmt.Fprintf(out, "%s: the entry %s is removed from the list, because the name is its key\n", r.Name, reference.From)
		}
	}
	for _, whole := range r.SentWhole {
		fmt.Fprintf(out, "%s: %s is sent whole, because it is one value for server-side apply\n", r.Name, whole)
	}
	for _, key := range r.MissingKeys {
		fmt.Fprintf(out, "%s: warning: it needs the key %s, which %s does not have: its pods will not start\n", r.Name, key, r.References[0].To)
	}
	fmt.Fprintf(out, "%s: %s\n", r.Name, r.Note)
}

// The values of -o.
const (
	outputText = ""
	outputName = "name"
	outputJSON = "json"
	outputYAML = "yaml"
)

// checkOutput checks the value of -o.
func checkOutput(format string, known ...string) error {
	if format == outputText || slices.Contains(known, format) {
		return nil
	}
	return fmt.Errorf("--output %q: must be %s", format, strings.Join(known, " or "))
}

// printAs prints a value as JSON or YAML.
func printAs(out io.Writer, format string, content any) error {
	text, err := json.MarshalIndent(content, "", "  ")
	if err != nil {
		return err
	}
	if format == outputYAML {
		if text, err = yaml.JSONToYAML(text); err != nil {
			return err
		}
		_, err = out.Write(text)
		return err
	}
	_, err = fmt.Fprintf(out, "%s\n", text)
	return err
}
