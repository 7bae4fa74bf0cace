package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/access/revocation"
	"holdfast.dev/holdfast/internal/cli/arguments"
	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/cli/output"
)

const revokeHelp = `Revoke credentials: certificates and tokens, before they expire.

The list of revoked credentials is the ConfigMap holdfast-revocations in
kube-system. All servers follow it: within a second they answer 401 to requests
with a revoked credential, and end its watches.

--user revokes every credential of a user, of any kind; a service account is the
user system:serviceaccount:NAMESPACE:NAME. --node revokes the credentials of a
node and the tokens of the pods on it. Both hold until they are removed, or, with
--issued-before, for older credentials only: the user can get a new one at once.
--serial revokes one certificate. --credential revokes one credential by the ID
that audit logs have of it (authentication.kubernetes.io/credential-id).

Roles stay as they are, and so do objects that the user has created.`

func newRevokeCommand() *cobra.Command {
	var r revoke
	cmd := &cobra.Command{
		Use:   "revoke",
		Short: "Revoke certificates and tokens before they expire",
		Long:  revokeHelp,
		Example: `  # A user has left
  holdfast revoke --user jane --reason "left the company"

  # A user lost a laptop: revoke the credentials on it, and make new ones
  holdfast revoke --user jane --issued-before now
  holdfast kubeconfig jane --group dev --output-file jane.kubeconfig

  # What is revoked, and take it back
  holdfast revoke --list
  holdfast revoke --remove --user jane`,
		Args: arguments.None,
		RunE: func(cmd *cobra.Command, _ []string) error { return r.run(cmd, time.Now()) },
	}
	flags := cmd.Flags()
	r.AddFlags(flags)
	r.dryRun.AddFlag(flags)
	flags.StringArrayVar(&r.users, "user", nil, "a user, for all its credentials; may be given several times")
	flags.StringArrayVar(&r.nodes, "node", nil, "a node, for all its credentials and the tokens of its pods; may be given several times")
	flags.StringArrayVar(&r.serials, "serial", nil, "serial number of a certificate, in hexadecimal; may be given several times")
	flags.StringArrayVar(&r.credentials, "credential", nil, "ID of a credential in audit logs; may be given several times")
	flags.StringVar(&r.issuedBefore, "issued-before", "", "revoke only credentials of the user or node that were issued before a time: now, "+
		"or 2006-01-02T15:04:05Z")
	flags.StringVar(&r.reason, "reason", "", "text for other administrators")
	flags.BoolVar(&r.list, "list", false, "list what is revoked")
	r.output.AddFlag(cmd)
	flags.BoolVar(&r.remove, "remove", false, "take a revocation back")
	return cmd
}

// revoke holds the flags of the command.
type revoke struct {
	command.Server
	users, nodes, serials, credentials []string
	issuedBefore, reason               string
	list, remove                       bool
	output                             output.Format
	dryRun                             command.DryRun
}

func (r *revoke) run(cmd *cobra.Command, now time.Time) error {
	wanted, err := r.entries(now)
	if err != nil {
		return fmt.Errorf("revoke: %w", err)
	}
	switch {
	case r.list && (r.remove || len(wanted) > 0):
		return errors.New("revoke: --list stands alone")
	case r.output != "" && !r.list:
		return errors.New("revoke: -o is for --list")
	case !r.list && len(wanted) == 0:
		return errors.New("revoke: name a --user, --node, --serial or --credential, or use --list")
	}
	_, client, err := connect(&r.Server)
	if err != nil {
		return err
	}
	list := revocation.NewClient(client.CoreV1())
	if r.list {
		entries, err := list.Get(cmd.Context())
		if err != nil {
			return command.Unable(err)
		}
		if r.output != "" {
			return r.output.Print(cmd.OutOrStdout(), append([]revocation.Entry{}, entries...))
		}
		return printEntries(cmd.OutOrStdout(), entries)
	}
	return r.change(cmd.Context(), cmd.OutOrStdout(), list, wanted)
}

// entries returns the entries that the flags describe.
func (r *revoke) entries(now time.Time) ([]revocation.Entry, error) {
	before, err := r.before(now)
	if err != nil {
		return nil, err
	}
	var all []revocation.Entry
	add := func(entry revocation.Entry) {
		entry.Reason, entry.Added = r.reason, &metav1.Time{Time: now.Truncate(time.Second)}
		all = append(all, entry)
	}
	for _, name := range r.users {
		add(revocation.Entry{User: name, IssuedBefore: before})
	}
	for _, name := range r.nodes {
		add(revocation.Entry{Node: name, IssuedBefore: before})
	}
	for _, text := range r.serials {
		serial, err := revocation.ParseSerial(text)
		if err != nil {
			return nil, fmt.Errorf("--serial: %w", err)
		}
		add(revocation.Entry{Serial: serial})
	}
	for _, id := range r.credentials {
		add(revocation.Entry{Credential: id})
	}
	return all, nil
}

// before returns the time of --issued-before. Credentials have the time of their issue in
// seconds, so a part of a second counts as a whole one.
func (r *revoke) before(now time.Time) (*metav1.Time, error) {
	switch {
	case r.issuedBefore == "":
		return nil, nil
	case len(r.serials)+len(r.credentials) > 0 || r.remove:
		return nil, errors.New("--issued-before is for revoking a --user or --node")
	case r.issuedBefore == "now":
		return &metav1.Time{Time: now.Add(time.Second - 1).Truncate(time.Second)}, nil
	}
	before, err := time.Parse(time.RFC3339, r.issuedBefore)
	if err != nil {
		return nil, fmt.Errorf("--issued-before %q: neither now nor a time such as 2006-01-02T15:04:05Z", r.issuedBefore)
	}
	return &metav1.Time{Time: before}, nil
}

// change adds the entries to the list, or removes them, and prints each.
func (r *revoke) change(ctx context.Context, out io.Writer, list *revocation.Client, wanted []revocation.Entry) error {
	done := "%s is revoked%s\n"
	if r.remove {
		done = "%s is not revoked any more%s\n"
	}
	list.DryRun, list.ReadOnly = r.dryRun.Options(), !r.dryRun.Sends()
	err := list.Edit(ctx, func(entries []revocation.Entry) ([]revocation.Entry, error) {
		if r.remove {
			return removeAll(entries, wanted)
		}
		return addAll(entries, wanted), nil
	})
	if err != nil {
		return err
	}
	for _, entry := range wanted {
		if _, err := fmt.Fprintf(out, done, entry.Subject(), r.dryRun.Suffix()); err != nil {
			return err
		}
	}
	return nil
}

// addAll returns the list with entries added. They replace entries for the same subject.
func addAll(entries, added []revocation.Entry) []revocation.Entry {
	entries = slices.DeleteFunc(entries, func(e revocation.Entry) bool { return isAmong(e, added) })
	return append(entries, added...)
}

// removeAll returns the list without entries for the subjects of others. It is an error if
// there is no entry for one of them.
func removeAll(entries, removed []revocation.Entry) ([]revocation.Entry, error) {
	for _, entry := range removed {
		if !isAmong(entry, entries) {
			return nil, fmt.Errorf("%s is not revoked", entry.Subject())
		}
	}
	return slices.DeleteFunc(entries, func(e revocation.Entry) bool { return isAmong(e, removed) }), nil
}

func isAmong(entry revocation.Entry, entries []revocation.Entry) bool {
	return slices.ContainsFunc(entries, func(e revocation.Entry) bool { return e.Subject() == entry.Subject() })
}

// printEntries prints a list as a table.
func printEntries(out io.Writer, entries []revocation.Entry) error {
	writer := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	if _, err := fmt.Fprintln(writer, "REVOKED\tISSUED BEFORE\tADDED\tREASON"); err != nil {
		return err
	}
	text := func(t *metav1.Time) string {
		if t == nil {
			return "-"
		}
		return t.UTC().Format(time.RFC3339)
	}
	for _, e := range entries {
		if _, err := fmt.Fprintf(writer, "%s\t%s\t%s\t%s\n", e.Subject(), text(e.IssuedBefore), text(e.Added), e.Reason); err != nil {
			return err
		}
	}
	return writer.Flush()
}
