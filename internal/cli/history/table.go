package history

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/cli-runtime/pkg/printers"

	"holdfast.dev/holdfast/internal/fieldhistory"
	"holdfast.dev/holdfast/value"
)

const (
	// maxShown is the number of characters of a value in a table, and maxWide that in a table with all columns.
	maxShown = 40
	maxWide  = 200
)

// table says how a history is printed.
type table struct {
	now  time.Time
	wide bool
}

// print writes a line for each change. The first line of an entry has its number, age and writer.
func print(out io.Writer, entries []fieldhistory.Entry, t table) error {
	w := printers.GetNewTabWriter(out)
	header := []string{"NUMBER", "AGE", "BY", "FIELD", "FROM", "TO"}
	if t.wide {
		header = []string{"NUMBER", "TIME", "VERSION", "USER", "MANAGER", "COMMAND", "FIELD", "FROM", "TO"}
	}
	fmt.Fprintln(w, strings.Join(header, "\t"))
	for _, entry := range entries {
		first := t.writer(entry)
		for _, line := range t.changes(entry) {
			fmt.Fprintln(w, strings.Join(append(first, line...), "\t"))
			first = make([]string, len(first))
		}
	}
	return w.Flush()
}

// writer returns the cells about the write.
func (t table) writer(entry fieldhistory.Entry) []string {
	number := fmt.Sprint(entry.Number)
	if t.wide {
		return []string{number, entry.Time.UTC().Format(time.RFC3339), entry.ResourceVersion, cell(entry.User), cell(entry.Manager), cell(entry.Command)}
	}
	return []string{number, duration.HumanDuration(t.now.Sub(entry.Time)), by(entry)}
}

// by returns the writer of an entry: the user, and the command or else the field manager.
func by(entry fieldhistory.Entry) string {
	program := entry.Command
	if program == "" {
		program = entry.Manager
	}
	switch {
	case entry.User == "":
		return cell(program)
	case program == "":
		return printable(entry.User)
	}
	return printable(entry.User) + " (" + printable(program) + ")"
}

// cell returns a text as a cell of a table.
func cell(text string) string {
	if text == "" {
		return "-"
	}
	return printable(text)
}

// printable escapes the characters of a text that would break a line or a column. A field manager is any text of a client.
func printable(text string) string {
	quoted := value.Printer{Limit: maxWide, LiteralHTML: true}.Print(text)
	if quoted == `"`+text+`"` {
		return text
	}
	return quoted
}

// changes returns the cells field, from and to of each line of an entry.
func (t table) changes(entry fieldhistory.Entry) [][]string {
	switch {
	case entry.Operation == fieldhistory.Create:
		return [][]string{{"(created)", "", ""}}
	case entry.Operation == fieldhistory.Replace:
		return [][]string{{"(replaced by a new object)", "", ""}}
	case entry.Operation == fieldhistory.Delete && !t.wide:
		return [][]string{{"(deleted)", "", ""}}
	case entry.Operation == fieldhistory.Convert:
		return [][]string{{"(stored in " + entry.APIVersion + " from here on)", "", ""}}
	case entry.Truncated && entry.User == "":
		return [][]string{{"(changed while it was not recorded)", "", ""}}
	case entry.Truncated:
		return [][]string{{"(more than history keeps)", "", ""}}
	}
	var lines [][]string
	for _, change := range entry.Changes {
		lines = append(lines, []string{change.Path, t.value(change.From, change.FromHash), t.value(change.To, change.ToHash)})
	}
	return lines
}

// value returns the text of a value of a change.
func (t table) value(text json.RawMessage, hash *fieldhistory.Hash) string {
	limit := maxShown
	if t.wide {
		limit = maxWide
	}
	return textOf(text, hash, limit)
}

func textOf(text json.RawMessage, hash *fieldhistory.Hash, limit int) string {
	switch {
	case hash != nil && hash.HMAC != "":
		return "(secret)"
	case hash != nil:
		return fmt.Sprintf("(%d bytes, not kept)", hash.Size)
	case text == nil:
		return value.Printer{}.Print(value.Absent{})
	}
	var v any
	if err := utiljson.Unmarshal(text, &v); err != nil {
		return "(not readable)"
	}
	return value.Printer{Limit: limit, LiteralHTML: true}.Print(v)
}
