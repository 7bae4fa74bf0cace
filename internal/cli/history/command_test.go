package history_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"holdfast.dev/holdfast/internal/cli/history"
	"holdfast.dev/holdfast/internal/fieldhistory"
)

// namespace is that of the objects. All changes in it are recorded.
const namespace = "recorded"

// client runs the commands on a server.
type client struct {
	kubeconfig string
	// user is the user of the requests, the administrator if it is empty.
	user string
	// before is called before each request, unless it is nil.
	before func(*http.Request)
}

// result is the result of a command.
type result struct {
	out, notes string
	err        error
	code       int
}

func (c client) factory() cmdutil.Factory {
	flags := genericclioptions.NewConfigFlags(true)
	ns := namespace
	flags.KubeConfig, flags.Namespace, flags.Impersonate = &c.kubeconfig, &ns, &c.user
	flags.WrapConfigFn = func(config *rest.Config) *rest.Config {
		config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				if c.before != nil {
					c.before(r)
				}
				return next.RoundTrip(r)
			})
		})
		return config
	}
	return cmdutil.NewFactory(flags)
}

// roundTripper sends requests.
type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (r roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return r(req) }

// undo runs the command undo.
func (c client) undo(t testing.TB, args ...string) result {
	t.Helper()
	return execute(t, history.NewUndoCommand(c.factory()), args)
}

// history returns the history of an object.
func (c client) history(t testing.TB, args ...string) fieldhistory.List {
	t.Helper()
	r := execute(t, history.NewCommand(c.factory()), append(args, "-o", "json"))
	var list fieldhistory.List
	if r.err != nil {
		t.Fatalf("history %s: %v", args, r.err)
	}
	if err := json.Unmarshal([]byte(r.out), &list); err != nil {
		t.Fatal(err)
	}
	return list
}

func execute(t testing.TB, cmd *cobra.Command, args []string) result {
	t.Helper()
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	var out, notes bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&notes)
	cmd.SetArgs(args)
	r := result{err: cmd.ExecuteContext(t.Context())}
	r.out, r.notes = out.String(), notes.String()
	var coded interface{ ExitCode() int }
	switch {
	case errors.As(r.err, &coded):
		r.code = coded.ExitCode()
	case r.err != nil:
		r.code = 1
	}
	return r
}
