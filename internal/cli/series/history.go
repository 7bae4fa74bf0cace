package series

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"holdfast.dev/holdfast/internal/cli/arguments"
	"holdfast.dev/holdfast/internal/cli/command"
)

const historyHelp = `List the members of a series, the newest first, with the objects that refer to each.

The column USED BY has the objects that the user may read: workloads, and others that the
server knows, such as the ReplicaSets of a Deployment, pods, ServiceAccounts, Ingresses
and custom resources. ReplicaSets, ControllerRevisions, Jobs and pods are counted;
"holdfast series used" has their names. A server that is not "holdfast serve" does not
tell this, so that the column is WORKLOADS, and has only these.

An object with the name of the series is its oldest member.`

// history is what the command prints, for -o json.
type history struct {
	Series    string          `json:"series"`
	Namespace string          `json:"namespace"`
	Members   []memberHistory `json:"members"`
	// WorkloadsOnly says that other objects may refer to the members too, because the server does not tell which ones do.
	WorkloadsOnly bool `json:"workloadsOnly,omitempty"`
	// Unread says which referring objects could not be read.
	Unread []string `json:"unread,omitempty"`
}

// memberHistory is one member.
type memberHistory struct {
	Name    string    `json:"name"`
	Created time.Time `json:"created"`
	UsedBy  []string  `json:"usedBy"`
	// Hidden is the number of referring objects that the user may not get.
	Hidden int `json:"usedByHidden,omitempty"`
}

func newHistoryCommand() *cobra.Command {
	c, output := connection{}, ""
	cmd := &cobra.Command{
		Use:   "history SERIES",
		Short: "List the members of a series, and the objects that use them",
		Long:  historyHelp,
		Example: `  holdfast series history settings
  holdfast series history secret/password -o json`,
		Args: arguments.Exactly("SERIES"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOutput(output, outputJSON, outputYAML); err != nil {
				return command.Unable(err)
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
	c.AddNamespaceFlags(cmd.Flags())
	cmd.Flags().StringVarP(&output, "output", "o", outputText, "json or yaml (default: a table)")
	return cmd
}

func (c *connection) history(cmd *cobra.Command, name string) (*history, error) {
	id, err := parseIdentity(name)
	if err != nil {
		return nil, command.Unable(err)
	}
	s, err := c.connect(cmd.ErrOrStderr())
	if err != nil {
		return nil, command.Unable(err)
	}
	known, err := s.members(cmd.Context(), id)
	if err != nil {
		return nil, err
	}
	if len(known.sorted) == 0 {
		return nil, s.absent(cmd.Context(), refused("no %s of namespace %s is in the series %s: \"holdfast series roll %s\" creates the first one, and "+
			"\"holdfast series adopt\" adds those that exist%s", id.kind, s.namespace, id.name, id, id.hint()))
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
	out.addUsers(cmd.Context(), s, known, workloads)
	return out, nil
}

// addUsers adds the referring objects that only the server knows.
func (h *history) addUsers(ctx context.Context, s *server, known *members, workloads []*workload) {
	users, err := s.usersOf(ctx, known.kind, known.names())
	if h.WorkloadsOnly = errors.Is(err, errNoIndex); err != nil {
		if !h.WorkloadsOnly {
			h.Unread = append(h.Unread, err.Error())
		}
		return
	}
	for i := range h.Members {
		m := &h.Members[i]
		answer := users[m.Name]
		if answer == nil {
			continue
		}
		m.Hidden = answer.Hidden + answer.More
		for _, r := range answer.Referrers {
			user := userName(r, s.namespace)
			// The index of the server may be a moment behind the workloads, which were read.
			if !slices.ContainsFunc(workloads, func(w *workload) bool { return w.String() == user }) {
				m.UsedBy = append(m.UsedBy, user)
			}
		}
		if text := answer.Incomplete; text != "" && !slices.Contains(h.Unread, text) {
			h.Unread = append(h.Unread, text)
		}
	}
}

func (h *history) print(to io.Writer) error {
	out := tabwriter.NewWriter(to, 0, 8, 3, ' ', 0)
	column := "USED BY"
	if h.WorkloadsOnly {
		column = "WORKLOADS"
	}
	fmt.Fprintln(out, "NAME\tCREATED\tAGE\t"+column)
	for _, m := range h.Members {
		age := duration.HumanDuration(time.Since(m.Created))
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\n", m.Name, m.Created.Format(time.RFC3339), age, summary(m.UsedBy, m.Hidden))
	}
	return out.Flush()
}
