package owners

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/dynamic"

	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/managers"
	"holdfast.dev/holdfast/ownership"
)

// stuckOptions are the flags of owners --stuck.
type stuckOptions struct {
	on, allNamespaces, allObjects bool
	labels                        string
	gone                          []string
}

func (o *stuckOptions) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&o.on, "stuck", false, "show the fields of many objects that no apply removes, and why")
	flags.BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "with --stuck: in all namespaces, and objects without a namespace")
	flags.StringVarP(&o.labels, "selector", "l", "", "with --stuck: only objects with these labels, as in -l app=web")
	flags.StringSliceVar(&o.gone, "gone", nil, "with --stuck: managers that no longer apply, such as old-ci")
	flags.BoolVar(&o.allObjects, "all-objects", false, "with --stuck: name all objects of each field, and not only some")
}

// isSet reports whether a flag of --stuck is set.
func (o *stuckOptions) isSet(cmd *cobra.Command) bool {
	return slices.ContainsFunc([]string{"stuck", "all-namespaces", "selector", "gone", "all-objects"}, cmd.Flags().Changed)
}

// selection returns the objects that the flags and arguments name.
func (o ownersOptions) selection(of objects, args []string) (selection, error) {
	s := selection{allNamespaces: o.stuck.allNamespaces, labels: o.stuck.labels}
	switch {
	case !o.stuck.on:
		return s, errors.New("-A, -l, --gone and --all-objects are for --stuck")
	case o.drift:
		return s, errors.New("--drift and --stuck show different things: use one of them")
	case of.files.RequireFilenameOrKustomize() == nil:
		return s, errors.New("--stuck reads the objects of the server, not those of files")
	}
	if _, err := labels.Parse(s.labels); err != nil {
		return s, fmt.Errorf("selector %q: %w", s.labels, err)
	}
	for _, arg := range args {
		if strings.Contains(arg, "/") {
			return s, fmt.Errorf("%q: --stuck takes types, such as deployments, and not single objects", arg)
		}
		s.types = append(s.types, strings.Split(arg, ",")...)
	}
	var err error
	s.namespace, _, err = of.factory.ToRawKubeConfigLoader().Namespace()
	return s, errors.Join(err, o.output.Validate())
}

// runStuck runs owners --stuck.
func (o ownersOptions) runStuck(cmd *cobra.Command, of objects, args []string) error {
	selected, err := o.selection(of, args)
	if err != nil {
		return command.Unable(err)
	}
	kinds, unavailable, err := selected.kinds(of.factory)
	if err != nil {
		return command.Unable(err)
	}
	client, err := of.factory.DynamicClient()
	if err != nil {
		return command.Unable(err)
	}
	report := newStuckReport(o.stuck.allObjects || o.output != "")
	var failed []error
	if unavailable != nil {
		report.Unavailable = unavailable.Error()
		failed = append(failed, fmt.Errorf("not all APIs answer: %w", unavailable))
	}
	for _, one := range kinds {
		err := o.examine(cmd, of, one, selected.client(client, one), report)
		switch {
		case err == nil:
			report.Examined.Kinds++
		case len(selected.types) == 0 && isNoList(err):
			fmt.Fprintf(cmd.ErrOrStderr(), "note: skipped %s: %v\n", one.GroupResource(), err)
			report.Skipped = append(report.Skipped, skipped{one.GroupResource().String(), err.Error()})
		default:
			failed = append(failed, fmt.Errorf("list %s: %w", one.GroupResource(), err))
		}
		if cmd.Context().Err() != nil {
			return command.Unable(cmd.Context().Err())
		}
	}
	if report.Examined.Kinds == 0 && len(failed) == 0 && len(kinds) > 0 {
		failed = append(failed, errors.New("no kind could be listed"))
	}
	if err := report.print(cmd.OutOrStdout(), o.output); err != nil {
		return err
	}
	switch {
	case len(failed) > 0:
		return command.Unable(errors.Join(failed...))
	case report.isEmpty():
		return nil
	}
	return command.Exit(command.ExitRefused)
}

// isNoList reports whether the server does not let the user list a kind.
func isNoList(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsMethodNotSupported(err) || apierrors.IsNotFound(err)
}

// client returns the client of the selected objects of a kind.
func (s selection) client(client dynamic.Interface, of kind) dynamic.ResourceInterface {
	if !of.namespaced || s.allNamespaces {
		return client.Resource(of.GroupVersionResource)
	}
	return client.Resource(of.GroupVersionResource).Namespace(s.namespace)
}

// examine examines the objects of a kind. It holds one page of them at a time.
func (o ownersOptions) examine(cmd *cobra.Command, of objects, one kind, client dynamic.ResourceInterface, report *stuckReport) error {
	var fieldsOf *ownership.Type
	return eachPage(cmd.Context(), o.stuck.labels, client.List, func(page *unstructured.UnstructuredList) error {
		for i := range page.Items {
			obj := &page.Items[i]
			if fieldsOf == nil {
				fieldsOf = of.types.Of(one.GroupVersionKind, of.schemas(cmd))
			}
			subject := ownership.Subject{Type: fieldsOf, Object: obj.Object, Managers: obj.GetManagedFields()}
			found, err := managers.Examine(subject, o.stuck.gone)
			object := place{one.GroupKind().String(), obj.GetNamespace(), obj.GetName()}
			if err != nil {
				fmt.Fprintf(cmd.ErrOrStderr(), "note: skipped %s: %v\n", object, err)
				continue
			}
			report.add(object, found)
		}
		return nil
	})
}
