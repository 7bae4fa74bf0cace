package doctor

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"sigs.k8s.io/yaml"
)

// state is the result of a check.
type state string

const (
	// good means that the check found nothing wrong.
	good state = "ok"
	// warning means that something will fail later, or fails sometimes.
	warning state = "warning"
	// failure means that something does not work.
	failure state = "error"
	// skipped means that the check was not possible.
	skipped state = "skipped"
)

// check is the result of one check. A check that found two things has two results.
type check struct {
	Name    string `json:"check"`
	State   state  `json:"state"`
	Message string `json:"message"`
	// Next is what to do next, empty for a result that is good.
	Next string `json:"next,omitempty"`
}

// report is the result of all checks.
type report []check

// found reports whether something is wrong.
func (r report) found() bool {
	return slices.ContainsFunc(r, func(c check) bool { return c.State == warning || c.State == failure })
}

// print prints the report as a table, with what to do next below it, or as JSON or YAML.
func (r report) print(w io.Writer, format string) error {
	switch all := map[string]report{"checks": r}; format {
	case "json":
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(all)
	case "yaml":
		text, err := yaml.Marshal(all)
		if err != nil {
			return err
		}
		_, err = w.Write(text)
		return err
	}
	table := tabwriter.NewWriter(w, 0, 8, 3, ' ', 0)
	fmt.Fprintln(table, "CHECK\tSTATE\tMESSAGE")
	for _, c := range r {
		fmt.Fprintf(table, "%s\t%s\t%s\n", c.Name, c.State, c.Message)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for i, next := range r.steps() {
		if i == 0 {
			fmt.Fprintln(w, "\nWhat to do next:")
		}
		fmt.Fprintf(w, "- %s\n", next)
	}
	return nil
}

// steps returns what to do next, each step once.
func (r report) steps() []string {
	var steps []string
	for _, c := range r {
		if text := c.Name + ": " + c.Next; c.Next != "" && !slices.Contains(steps, text) {
			steps = append(steps, text)
		}
	}
	return steps
}

// orGood returns the results, or one good result if there are none.
func orGood(name, message string, results []check) []check {
	if len(results) > 0 {
		return results
	}
	return []check{{Name: name, State: good, Message: message}}
}
