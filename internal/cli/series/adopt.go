package series

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/references"
	"holdfast.dev/holdfast/internal/series"
)

const adoptHelp = `Add ConfigMaps or Secrets that exist to a series.

The command sets the label holdfast.dev/series. The names do not matter: those that
kustomize generates and those that a Helm chart computes with sha256sum can be in one
series with those of "holdfast series roll".

Members are immutable, so the command refuses a mutable object. --make-immutable makes
it immutable in the same write; nothing can undo that. The command reads every object,
and lets the server try every change, before it changes the first one. If it fails
between two objects nevertheless, run it again: it continues where it stopped.`

// adoption has the flags of adopt.
type adoption struct {
	connection
	makeImmutable bool
	dryRun        command.DryRun
}

func newAdoptCommand() *cobra.Command {
	a := &adoption{}
	cmd := &cobra.Command{
		Use:   "adopt SERIES (cm/NAME | secret/NAME)...",
		Short: "Add ConfigMaps or Secrets that exist to a series",
		Long:  adoptHelp,
		Example: `  # Two ConfigMaps of kustomize
  holdfast series adopt settings cm/settings-7g2b4kt8mf cm/settings-b9m2k8t5hc

  holdfast series adopt settings cm/settings --make-immutable --dry-run`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return errors.New("name a series and the objects: SERIES cm/NAME")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.run(cmd, args[0], args[1:]) },
	}
	a.AddNamespaceFlags(cmd.Flags())
	cmd.Flags().BoolVar(&a.makeImmutable, "make-immutable", false, "make mutable objects immutable, which nothing can undo")
	a.dryRun.AddFlag(cmd.Flags())
	return cmd
}

// adopted is an object that joins a series.
type adopted struct {
	identity
	live *unstructured.Unstructured
}

func (a *adoption) run(cmd *cobra.Command, name string, args []string) error {
	if strings.Contains(name, "/") {
		return command.Unable(fmt.Errorf("%q: name the series without a type; the objects have one, as in cm/NAME", name))
	}
	if err := (identity{references.ConfigMap, name}).check(); err != nil {
		return command.Unable(err)
	}
	var all []adopted
	for _, arg := range args {
		of, objectName, found := strings.Cut(arg, "/")
		kind, known := kinds[strings.ToLower(of)]
		if !found || !known || objectName == "" {
			return command.Unable(fmt.Errorf("%q: name an object as cm/NAME or secret/NAME", arg))
		}
		all = append(all, adopted{identity: identity{kind, objectName}})
	}
	s, err := a.connect(cmd.ErrOrStderr())
	if err != nil {
		return command.Unable(err)
	}
	ctx := cmd.Context()
	for i := range all {
		if err := a.read(ctx, s, name, &all[i]); err != nil {
			return err
		}
	}
	if !a.dryRun.IsSet() && len(all) > 1 {
		tried := adoption{makeImmutable: a.makeImmutable, dryRun: command.DryRunServer}
		for i := range all {
			if _, err := tried.join(ctx, s, name, &all[i]); err != nil {
				return err
			}
		}
	}
	for i := range all {
		line, err := a.join(ctx, s, name, &all[i])
		if err != nil {
			return err
		}
		fmt.Fprintln(cmd.OutOrStdout(), line)
	}
	return nil
}

// read reads an object, and checks that it can join a series.
func (a *adoption) read(ctx context.Context, s *server, name string, o *adopted) (err error) {
	text := memberName(o.kind, o.name)
	o.live, err = s.objects(o.kind).Get(ctx, o.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return refused("there is no %s in namespace %s", text, s.namespace)
	}
	if err != nil {
		return command.Unable(fmt.Errorf("read %s: %w", text, withRight(err)))
	}
	switch of := o.live.GetLabels()[series.Label]; {
	case of != "" && of != name:
		return refused("%s belongs to the series %s: take its label %s away first", text, of, series.Label)
	case !o.immutable() && !a.makeImmutable:
		return refused("%s is mutable, and members of a series are not: --make-immutable makes it immutable, which nothing can undo", text)
	}
	return nil
}

func (o *adopted) immutable() bool {
	immutable, _, _ := unstructured.NestedBool(o.live.Object, "immutable")
	return immutable
}

// join sets the label of an object, and returns what was done.
func (a *adoption) join(ctx context.Context, s *server, name string, o *adopted) (string, error) {
	for attempt := 1; ; attempt++ {
		text, immutable := memberName(o.kind, o.name), o.immutable()
		if o.live.GetLabels()[series.Label] == name && immutable {
			return fmt.Sprintf("%s is in the series %s already", text, name), nil
		}
		patch := map[string]any{"metadata": map[string]any{
			"resourceVersion": o.live.GetResourceVersion(), "labels": map[string]any{series.Label: name},
		}}
		line := fmt.Sprintf("%s is in the series %s", text, name)
		if !immutable {
			patch["immutable"] = true
			line += " and immutable"
		}
		if !a.dryRun.Sends() {
			return line + a.dryRun.Suffix(), nil
		}
		body, err := json.Marshal(patch)
		if err != nil {
			return "", err
		}
		options := metav1.PatchOptions{FieldManager: identity{o.kind, name}.manager(), DryRun: a.dryRun.Options()}
		_, err = s.objects(o.kind).Patch(ctx, o.name, types.MergePatchType, body, options)
		switch {
		case err == nil:
			return line + a.dryRun.Suffix(), nil
		case !apierrors.IsConflict(err) || attempt == attempts:
			return "", refused("%s: %w", text, withRight(err))
		}
		if err := a.read(ctx, s, name, o); err != nil {
			return "", err
		}
	}
}
