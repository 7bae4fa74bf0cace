package series

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"holdfast.dev/holdfast/internal/apiserver/referrers"
	"holdfast.dev/holdfast/internal/cli/arguments"
	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/references"
)

const usedHelp = `Show which objects refer to a ConfigMap or a Secret, and where.

The server shows the objects that you may get, and counts the others. The object need
not exist: pods that run with the files of a deleted one are shown too. A custom
resource whose definition does not declare its references refers to each name that is a
whole string in it. Objects of aggregated API servers do not count.

Only "holdfast serve" has the index that answers this.`

func newUsedCommand() *cobra.Command {
	c, output := connection{}, ""
	cmd := &cobra.Command{
		Use:   "used (cm|secret)/NAME",
		Short: "Show which objects refer to a ConfigMap or a Secret",
		Long:  usedHelp,
		Example: `  holdfast series used cm/settings-5f2
  holdfast series used secret/db -n shop -o json`,
		Args: arguments.Exactly("(cm|secret)/NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOutput(output, outputJSON, outputYAML); err != nil {
				return command.Unable(err)
			}
			kind, name, err := parseObject(args[0])
			if err != nil {
				return command.Unable(err)
			}
			s, err := c.connect(cmd.ErrOrStderr())
			if err != nil {
				return command.Unable(err)
			}
			answer := &referrers.References{}
			path := fmt.Sprintf("/api/v1/namespaces/%s/%s/%s", s.namespace, resourceOf(kind).Resource, name)
			if err := s.ask(cmd.Context(), path, referrers.ReferencesType, answer); err != nil {
				return err
			}
			if output != outputText {
				return printAs(cmd.OutOrStdout(), output, answer)
			}
			return printUsed(cmd.OutOrStdout(), answer)
		},
	}
	c.AddNamespaceFlags(cmd.Flags())
	cmd.Flags().StringVarP(&output, "output", "o", outputText, "json or yaml (default: a table)")
	return cmd
}

// parseObject reads the name of a ConfigMap or a Secret, such as cm/settings.
func parseObject(text string) (references.Kind, string, error) {
	of, name, _ := strings.Cut(text, "/")
	kind, known := kinds[strings.ToLower(of)]
	if !known || !references.MayBeName(name) {
		return 0, "", fmt.Errorf("%q is not the name of a ConfigMap or a Secret, as in cm/settings or secret/db", text)
	}
	return kind, name, nil
}

// ask reads an answer of the index of references.
func (s *server) ask(ctx context.Context, path, mediaType string, into any) error {
	result := s.raw.Get().RequestURI(path).SetHeader("Accept", mediaType).Do(ctx)
	text, err := result.Raw()
	if err != nil {
		err = result.Error() // with the message of the server
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Code == http.StatusNotAcceptable {
		return command.Refused(errNoIndex)
	}
	if err != nil {
		return command.Unable(withRight(err))
	}
	if err := json.Unmarshal(text, into); err != nil {
		return command.Unable(fmt.Errorf("read the answer of the server: %w", err))
	}
	return nil
}

// printUsed prints an answer as text.
func printUsed(to io.Writer, answer *referrers.References) error {
	out := tabwriter.NewWriter(to, 0, 8, 3, ' ', 0)
	if len(answer.Referrers) > 0 {
		fmt.Fprintln(out, "KIND\tNAMESPACE\tNAME\tPLACE")
		for _, r := range answer.Referrers {
			places := r.Paths
			if len(places) == 0 {
				places = []string{"-"}
			}
			for _, place := range places {
				fmt.Fprintf(out, "%s\t%s\t%s\t%s\n", r.Kind, cmp.Or(r.Namespace, "-"), r.Name, place)
			}
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	about := memberName(kinds[strings.ToLower(answer.Object.Kind)], answer.Object.Name)
	for _, pin := range answer.Pins {
		note := ""
		if pin.UID != answer.Object.UID {
			note = ", of an object with this name that was deleted"
		}
		fmt.Fprintf(to, "pod/%s on node %s has the files of %s%s (UID %s)\n", pin.Pod, cmp.Or(pin.Node, "-"), about, note, pin.UID)
	}
	switch {
	case answer.More == 1:
		fmt.Fprintln(to, "1 more object refers to it")
	case answer.More > 1:
		fmt.Fprintf(to, "%d more objects refer to it\n", answer.More)
	}
	switch {
	case answer.Hidden == 1:
		fmt.Fprintln(to, "1 object that you may not get uses it")
	case answer.Hidden > 1:
		fmt.Fprintf(to, "%d objects that you may not get use it\n", answer.Hidden)
	}
	switch {
	case !answer.Object.Exists:
		fmt.Fprintf(to, "%s does not exist in namespace %s\n", about, answer.Object.Namespace)
	case answer.UnusedSince != nil:
		fmt.Fprintf(to, "no object refers to %s since %s\n", about, answer.UnusedSince.Format(time.RFC3339))
	}
	if answer.Incomplete != "" {
		fmt.Fprintf(to, "the answer may not be complete: %s\n", answer.Incomplete)
	}
	return nil
}
