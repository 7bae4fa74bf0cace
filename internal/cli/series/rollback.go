package series

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/cli/arguments"
	"holdfast.dev/holdfast/internal/cli/command"
)

const rollbackHelp = `Point the references of workloads back to an older member of a series.

Without --to, that is the member before the one that they refer to now. All workloads
of the namespace that refer to the series follow, or with --in only some. The rules are
those of "holdfast series roll".`

// rollingBack has the flags of rollback.
type rollingBack struct {
	following
	to string
}

func newRollbackCommand() *cobra.Command {
	r := &rollingBack{following: following{}}
	cmd := &cobra.Command{
		Use:   "rollback SERIES [--to HASH]",
		Short: "Point references back to an older member of a series",
		Long:  rollbackHelp,
		Example: `  holdfast series rollback settings
  holdfast series rollback settings --to 7g2b4kt8mf --in deploy/web
  holdfast series rollback secret/password --dry-run`,
		Args: arguments.Exactly("SERIES"),
		RunE: func(cmd *cobra.Command, args []string) error { return r.run(cmd, args[0]) },
	}
	r.following.addFlags(cmd)
	cmd.Flags().StringVar(&r.to, "to", "", "hash or whole name of the member (default: the one before that in use)")
	return cmd
}

func (r *rollingBack) run(cmd *cobra.Command, name string) error {
	id, err := parseIdentity(name)
	if err == nil {
		err = r.check()
	}
	if err != nil {
		return command.Unable(err)
	}
	s, err := r.connect(cmd.ErrOrStderr())
	if err != nil {
		return command.Unable(err)
	}
	ctx := cmd.Context()
	known, err := s.members(ctx, id)
	if err != nil {
		return err
	}
	workloads, err := s.workloads(ctx, known, r.in)
	if err != nil {
		return err
	}
	if len(workloads) == 0 {
		return s.absent(ctx, refused("no workload of namespace %s refers to the series %s: name others with --in, or write the name of a member into a manifest",
			s.namespace, id))
	}
	to := ""
	if r.to != "" {
		to, err = known.find(r.to)
	} else {
		to, err = s.before(known, workloads)
	}
	if err != nil {
		return err
	}
	member, err := s.objects(id.kind).Get(ctx, to, metav1.GetOptions{})
	if err != nil {
		return command.Unable(fmt.Errorf("read %s: %w", memberName(id.kind, to), withRight(err)))
	}
	if member.GetDeletionTimestamp() != nil {
		return refused("%s is being deleted: name another member with --to: %s", memberName(id.kind, to), known.list())
	}
	f := &follower{
		server: s, following: &r.following, members: known, to: to, content: member, out: cmd.OutOrStdout(), progress: cmd.ErrOrStderr(), cmd: cmd,
	}
	return f.run(ctx, workloads)
}

// workloads reads the workloads that the user names, or all that refer to the series.
func (s *server) workloads(ctx context.Context, m *members, named []string) ([]*workload, error) {
	if len(named) > 0 {
		return s.named(ctx, named)
	}
	found, unread, err := s.all(ctx, m)
	if err != nil {
		return nil, err
	}
	if len(unread) > 0 {
		return nil, command.Unable(fmt.Errorf("not all workloads could be read, so name those that you mean with --in: %w", unread[0]))
	}
	return found, nil
}

// before returns the member before the one that all workloads refer to.
func (s *server) before(m *members, workloads []*workload) (string, error) {
	users := map[string][]string{}
	var used []string
	for _, w := range workloads {
		for _, name := range w.membersOf(m, s.namespace) {
			if !slices.Contains(used, name) {
				used = append(used, name)
			}
			if !slices.Contains(users[name], w.String()) {
				users[name] = append(users[name], w.String())
			}
		}
	}
	switch {
	case len(used) == 0:
		var names []string
		for _, w := range workloads {
			names = append(names, w.String())
		}
		return "", refused("no reference to the series %s is in %s: name another workload with --in%s", m.identity, strings.Join(names, ", "), m.hint())
	case len(used) > 1:
		var texts []string
		for _, name := range used {
			texts = append(texts, fmt.Sprintf("%s refers to %s", strings.Join(users[name], ", "), name))
		}
		return "", refused("several members are in use: %s: name the one to go back to with --to", strings.Join(texts, "; "))
	}
	at := m.index(used[0])
	switch {
	case at < 0:
		return "", refused("%s, which is in use, does not exist: name the member to go back to with --to: %s", used[0], m.list())
	case at == len(m.sorted)-1:
		return "", refused("%s, which is in use, is the oldest member of the series %s: there is none to go back to", used[0], m.identity)
	}
	return m.sorted[at+1].Name, nil
}
