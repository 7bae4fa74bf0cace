package kudo

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// table prints rows with aligned columns. The first row is the header.
func table(out io.Writer, rows [][]string) error {
	writer := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	for _, row := range rows {
		if _, err := fmt.Fprintln(writer, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return writer.Flush()
}

// maxCell is the number of runes of a value that a table shows.
const maxCell = 48

// oneLine returns a text as one line.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\t' || r == '\r' }), " ")
}

// cell returns a text as one line, cut after maxCell runes.
func cell(text string) string {
	text = oneLine(text)
	if utf8.RuneCountInString(text) <= maxCell {
		return text
	}
	return string([]rune(text)[:maxCell-1]) + "…"
}

// valueCell returns the cell of a parameter value, "-" if there is none.
func valueCell(text *string) string {
	switch {
	case text == nil:
		return "-"
	case *text == "":
		return `""`
	}
	return cell(*text)
}
