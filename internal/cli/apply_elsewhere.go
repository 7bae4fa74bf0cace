package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/cli/exchange"
	"holdfast.dev/holdfast/internal/cli/plan"
	"holdfast.dev/holdfast/internal/cli/plan/live"
	"holdfast.dev/holdfast/internal/finding"
	rules "holdfast.dev/holdfast/internal/replacement"
	"holdfast.dev/holdfast/internal/replacement/journal"
)

// elsewhere carries out the replacements of apply --replace on a server that is not Holdfast: it deletes and creates, with a journal.
type elsewhere struct {
	*replacing
	exchanger *exchange.Exchanger
	out       io.Writer
}

// elsewhere returns nil if the server is Holdfast.
func (r *replacing) elsewhere(out io.Writer, options live.Options) (*elsewhere, error) {
	if ours, err := isHoldfast(r.factory); err != nil || ours {
		return nil, err
	}
	e, err := r.exchanging(out, options.FieldManager)
	if err != nil {
		return nil, err
	}
	switch options.Dependents {
	case rules.Adopt:
		return nil, errors.New("--adopt: only a Holdfast server can make the new object the owner of the dependents; --cascade=orphan alone keeps them")
	case rules.Orphan:
		e.exchanger.Propagation = metav1.DeletePropagationOrphan
	}
	return e, nil
}

// exchanging returns what replaces objects on any server, by deleting and creating them.
func (r *replacing) exchanging(out io.Writer, manager string) (*elsewhere, error) {
	config, err := r.factory.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	// The client must not wait between the deletion and the create. The plan has shown the warnings of the server already.
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	cluster, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	exchanger := &exchange.Exchanger{Objects: objects, Cluster: cluster, FieldManager: manager, AllowDataLoss: r.allowed}
	return &elsewhere{r, exchanger, out}, nil
}

// resumed finishes what earlier runs have left, and returns the plans as they are then.
func (e *elsewhere) resumed(ctx context.Context, planner *live.Planner, plans []plan.Plan) ([]plan.Plan, error) {
	given, err := planner.Given()
	if err != nil {
		return nil, err
	}
	if found, err := e.resume(ctx, given); err != nil || !found {
		return plans, err
	}
	return planner.Plan(ctx)
}

// resume finishes the replacements of objects that earlier runs have begun. It reports whether there were any. Without --yes it prints them and
// returns an error.
func (e *elsewhere) resume(ctx context.Context, objects []live.Given) (bool, error) {
	var found []*journal.Entry
	for _, object := range objects {
		info := object.Info
		entry, err := e.exchanger.Find(ctx, info.Mapping.Resource.GroupResource(), info.Namespace, info.Name)
		switch {
		case apierrors.IsForbidden(err):
			continue // the check of a replacement says which right the user lacks
		case err != nil:
			return false, command.Unable(err)
		case entry == nil:
			continue
		}
		if !e.resumes {
			if err := e.exchanger.Continues(ctx, entry, object.New, object.Replaced); err != nil {
				return false, command.Refused(err)
			}
		}
		found = append(found, entry)
	}
	if len(found) == 0 {
		return false, nil
	}
	if !e.yes {
		if err := e.print(ctx, found); err != nil {
			return false, err
		}
		return false, command.Refused(notFinished(len(found)))
	}
	return true, e.finish(ctx, found)
}

// notFinished returns the error for a number of replacements that earlier runs have begun.
func notFinished(replacements int) error {
	are, them := "are", "them"
	if replacements == 1 {
		are, them = "is", "it"
	}
	return fmt.Errorf("%s %s not finished: --yes finishes %s first; nothing was written", finding.Quantity(replacements, "replacement"), are, them)
}

// print prints how far replacements are.
func (e *elsewhere) print(ctx context.Context, entries []*journal.Entry) error {
	for _, entry := range entries {
		state, err := e.exchanger.State(ctx, entry)
		if err != nil {
			return err
		}
		object := entry.Object()
		if namespace := entry.New.GetNamespace(); namespace != "" {
			object += " in namespace " + namespace
		}
		fmt.Fprintf(e.out, "%s: %s; %s\n", object, exchange.Origin(entry), state)
		if e.resumes && !e.yes {
			fmt.Fprintf(e.out, "  the new object: kubectl get secret %s -n %s -o jsonpath='{.data.new}' | base64 -d\n", entry.Stored.Name, entry.Stored.Namespace)
		}
	}
	return nil
}

// finish finishes replacements. One that was not begun is given up without an error.
func (e *elsewhere) finish(ctx context.Context, entries []*journal.Entry) error {
	var failed []error
	for _, entry := range entries {
		if err := e.print(ctx, []*journal.Entry{entry}); err != nil {
			return err
		}
		result, err := e.exchanger.Resume(ctx, entry, e.resumes)
		switch {
		case errors.Is(err, exchange.ErrChanged), errors.Is(err, exchange.ErrNotBegun):
			fmt.Fprintf(e.out, "  %v\n", err)
		case err != nil:
			failed = append(failed, err)
		default:
			fmt.Fprintf(e.out, "  finished: the UID %s is now %s; the object was absent for at most %s\n",
				entry.UID, result.UID, exchange.Seconds(result.Absent))
		}
	}
	return command.Refused(errors.Join(failed...))
}

// targetOf returns a replacement of a plan in the form that the exchanger takes.
func targetOf(replacement live.Replacement) (exchange.Target, error) {
	created, err := replacement.New()
	return exchange.Target{Resource: replacement.Resource(), Old: replacement.Old(), New: created, Trial: replacement.Trial()}, err
}

// check asks the server about all replacements, without writing.
func (e *elsewhere) check(ctx context.Context, replacements []live.Replacement) error {
	var refused []error
	for _, replacement := range replacements {
		target, err := targetOf(replacement)
		if err == nil {
			err = e.exchanger.Check(ctx, target)
		}
		if err != nil {
			refused = append(refused, err)
		}
	}
	if len(refused) == 0 {
		fmt.Fprintln(e.out, "on this server an object is absent for a moment while it is replaced; a journal in a Secret lets the next run finish, or restore it")
	}
	return errors.Join(refused...)
}

// carryOut carries out replacements until one fails.
func (e *elsewhere) carryOut(ctx context.Context, replacements []live.Replacement) error {
	for i, replacement := range replacements {
		target, err := targetOf(replacement)
		if err != nil {
			return err
		}
		result, err := e.exchanger.Replace(ctx, target)
		if err != nil {
			return command.Refused(fmt.Errorf("%w (%d of %d replacements were made before)", err, i, len(replacements)))
		}
		fmt.Fprintf(e.out, "%s replaced: the UID %s is now %s; the object was absent for at most %s\n",
			replacement.Object, replacement.UID, result.UID, exchange.Seconds(result.Absent))
	}
	return nil
}

// resumeAll lists the open journals of all namespaces, or of that of the command line, and with --yes finishes their replacements.
func (r *replacing) resumeAll(cmd *cobra.Command) error {
	e, err := r.exchanging(cmd.OutOrStdout(), "")
	if err != nil {
		return err
	}
	given, isGiven, err := r.factory.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return err
	}
	namespace := ""
	if isGiven {
		namespace = given
	}
	entries, err := e.exchanger.List(cmd.Context(), namespace)
	switch {
	case apierrors.IsForbidden(err) && !isGiven:
		return fmt.Errorf("look for journals in all namespaces: %w: name one with -n", err)
	case err != nil:
		return err
	case len(entries) == 0:
		fmt.Fprintln(e.out, "no replacement is open")
		return nil
	case !r.yes:
		return e.print(cmd.Context(), entries)
	}
	return e.finish(cmd.Context(), entries)
}
