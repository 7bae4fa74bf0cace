package series

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"holdfast.dev/holdfast/internal/cli/arguments"
)

const historyHelp = `List the members of a series, the newest first, with the workloads that refer to each.

The column USED BY has the workloads that the user may read. An object with the name of
the series is its oldest member.`

// history is what the command prints, for -o json.
type history struct {
	Series    string          `json:"series"`
	Namespace string          `json:"namespace"`
	Members   []memberHistory `json:"members"`
	// Unread says which workloads could not be read.
	Unread []string `json:"unread,omitempty"`
}

// memberHistory is one member.
type memberHistory struct {
	Name    string    `json:"name"`
	Created time.Time `json:"created"`
	UsedBy  []string  `json:"usedBy"`
}

func newHistoryCommand() *cobra.Command {
	c, output := newConnection(), ""
	cmd := &cobra.Command{
		Use:   "history SERIES",
		Short: "List the members of a series, and the workloads that use them",
		Long:  historyHelp,
		Example: `  holdfast series history settings
  holdfast series history secret/password -o json`,
		Args: checked(arguments.Exactly("SERIES")),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOutput(output, outputJSON, outputYAML); err != nil {
				return unable(err)
			}
			found, err := c.history(cmd, args[0])
			if err != nil {
				return err
			}
			if output != outputText {
				return printAs(cmd.OutOrStdout(), output, found)
			}
			for _, text := range found.Unread {
				fmt.Fprintf(cmd.ErrOrStderr(), "USED BY is not complete: %s\n", text)
			}
			return found.print(cmd.OutOrStdout())
		},
	}
	c.addFlags(cmd.Flags())
	cmd.Flags().StringVarP(&output, "output", "o", outputText, "json or yaml (default: a table)")
	return cmd
}

func (c connection) history(cmd *cobra.Command, name string) (*history, error) {
	id, err := parseIdentity(name)
	if err != nil {
		return nil, unable(err)
	}
	s, err := c.connect(cmd.ErrOrStderr())
	if err != nil {
		return nil, unable(err)
	}
	known, err := s.members(cmd.Context(), id)
	if err != nil {
		return nil, err
	}
	if len(known.sorted) == 0 {
		return nil, s.absent(cmd.Context(), refused("no %s of namespace %s is in the series %s: \"holdfast series roll %s\" creates the first one, and "+
			"\"holdfast series adopt\" adds those that exist", id.kind, s.namespace, id.name, id))
	}
	workloads, unread, err := s.all(cmd.Context(), known)
	if err != nil {
		return nil, err
	}
	out := &history{Series: id.String(), Namespace: s.namespace}
	for _, err := range unread {
		out.Unread = append(out.Unread, err.Error())
	}
	for _, member := range known.sorted {
		m := memberHistory{Name: member.Name, Created: member.Created.UTC(), UsedBy: []string{}}
		for _, w := range workloads {
			if slices.Contains(w.membersOf(known, s.namespace), member.Name) {
				m.UsedBy = append(m.UsedBy, w.String())
			}
		}
		out.Members = append(out.Members, m)
	}
	return out, nil
}

func (h *history) print(to io.Writer) error {
	out := tabwriter.NewWriter(to, 0, 8, 3, ' ', 0)
	fmt.Fprintln(out, "NAME\tCREATED\tAGE\tUSED BY")
	for _, m := range h.Members {
		used := "-"
		if len(m.UsedBy) > 0 {
			used = strings.Join(m.UsedBy, ",")
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\n", m.Name, m.Created.Format(time.RFC3339), duration.HumanDuration(time.Since(m.Created)), used)
	}
	return out.Flush()
}
