package kudo

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/operator/plan"
)

// all is the argument of get that asks for the three kinds together.
const all = "all"

func newGetCommand() *cobra.Command {
	var conn connection
	var who named
	var format output
	cmd := &cobra.Command{
		Use:   "get [instances|operators|operatorversions|all]",
		Short: "List what is installed",
		Long: `List the instances of a namespace, with the state of the plan that ran last. With
an argument, list the operators, their versions, or all of them as a tree.`,
		Example: `  holdfast kudo get
  holdfast kudo get all --namespace shop
  holdfast kudo get -A
  holdfast kudo get operatorversions -o yaml`,
		ValidArgs: []string{instances, operators, operatorVersions, all},
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 || len(args) == 1 && !slices.Contains(cmd.ValidArgs, args[0]) {
				return fmt.Errorf("get %s: give one of %s", strings.Join(args, " "), strings.Join(cmd.ValidArgs, ", "))
			}
			return nil
		},
		RunE: conn.withServer(func(cmd *cobra.Command, s *server, args []string) error {
			what := instances
			if len(args) == 1 {
				what = args[0]
			}
			if conn.AllNamespaces {
				s.namespace = ""
			}
			found, err := s.inventory(cmd.Context(), what, who.instance)
			if err != nil {
				return err
			}
			switch {
			case format != "":
				return format.print(cmd.OutOrStdout(), found.list())
			case found.empty():
				where := "namespace " + s.namespace
				if conn.AllNamespaces {
					where = "any namespace"
				}
				_, err := fmt.Fprintf(cmd.ErrOrStderr(), "no %s in %s\n", strings.Replace(what, all, operators, 1), where)
				return err
			case what == all:
				return found.tree(cmd.OutOrStdout(), conn.AllNamespaces)
			}
			rows := found.rows(what)
			if !conn.AllNamespaces {
				for i := range rows {
					rows[i] = rows[i][1:]
				}
			}
			return table(cmd.OutOrStdout(), rows)
		}),
	}
	conn.AddNamespaceFlags(cmd.Flags())
	conn.AddAllNamespacesFlag(cmd.Flags())
	format.addFlags(cmd.Flags())
	cmd.Flags().StringVar(&who.instance, "instance", "", "show only this instance")
	return cmd
}

// inventory is what a namespace contains.
type inventory struct {
	operators []api.Operator
	versions  []api.OperatorVersion
	instances []api.Instance
}

// inventory reads the objects of one kind, or of all. With a name it returns only the Instance
// of that name.
func (s *server) inventory(ctx context.Context, what, name string) (inventory, error) {
	var found inventory
	if what == operators || what == all {
		var list api.OperatorList
		if err := s.list(ctx, operators, &list); err != nil {
			return found, err
		}
		found.operators = list.Items
	}
	if what == operatorVersions || what == all {
		var list api.OperatorVersionList
		if err := s.list(ctx, operatorVersions, &list); err != nil {
			return found, err
		}
		found.versions = list.Items
	}
	if what == instances || what == all {
		var list api.InstanceList
		if err := s.list(ctx, instances, &list); err != nil {
			return found, err
		}
		found.instances = slices.DeleteFunc(list.Items, func(i api.Instance) bool { return name != "" && i.Name != name })
	}
	return found, nil
}

func (v inventory) empty() bool { return len(v.operators)+len(v.versions)+len(v.instances) == 0 }

// list returns the objects as a Kubernetes List.
func (v inventory) list() map[string]any {
	items := []any{}
	kind := func(name string) metav1.TypeMeta {
		return metav1.TypeMeta{APIVersion: api.GroupVersion.String(), Kind: name}
	}
	for _, each := range v.operators {
		each.TypeMeta = kind("Operator")
		items = append(items, each)
	}
	for _, each := range v.versions {
		each.TypeMeta = kind("OperatorVersion")
		items = append(items, each)
	}
	for _, each := range v.instances {
		each.TypeMeta = kind("Instance")
		items = append(items, each)
	}
	return map[string]any{"apiVersion": "v1", "kind": "List", "items": items}
}

// tree prints the operators with their versions, and these with their instances.
func (v inventory) tree(out io.Writer, everywhere bool) error {
	var lines []string
	for _, operator := range v.operators {
		line := operator.Name
		if everywhere {
			line = operator.Namespace + "/" + line
		}
		lines = append(lines, line)
		for _, version := range v.versions {
			if version.Namespace != operator.Namespace || version.Spec.Operator.Name != operator.Name {
				continue
			}
			lines = append(lines, "  "+version.Name)
			for i := range v.instances {
				if v.instances[i].Namespace == version.Namespace && v.instances[i].VersionKey() == version.Name {
					lines = append(lines, "    "+v.instances[i].Name)
				}
			}
		}
	}
	_, err := fmt.Fprintln(out, strings.Join(lines, "\n"))
	return err
}

// rows returns the table of a resource, with its header. The first column is the namespace.
func (v inventory) rows(what string) [][]string {
	switch what {
	case operators:
		rows := [][]string{{"NAMESPACE", "NAME", "DESCRIPTION"}}
		for i := range v.operators {
			rows = append(rows, []string{v.operators[i].Namespace, v.operators[i].Name, cell(v.operators[i].Spec.Description)})
		}
		return rows
	case operatorVersions:
		rows := [][]string{{"NAMESPACE", "NAME", "OPERATOR", "OPERATOR VERSION", "APP VERSION"}}
		for i := range v.versions {
			spec := v.versions[i].Spec
			rows = append(rows, []string{v.versions[i].Namespace, v.versions[i].Name, spec.Operator.Name, spec.Version, spec.AppVersion})
		}
		return rows
	}
	rows := [][]string{{"NAMESPACE", "NAME", "OPERATOR VERSION", "PLAN", "STATUS"}}
	for i := range v.instances {
		name, state := "-", string(api.NeverRun)
		if last := plan.Recent(&v.instances[i]); len(last) > 0 {
			name, state = last[0].Name, string(last[0].Status)
		}
		// A requested plan may not have a status yet.
		requested := v.instances[i].RunningPlan()
		if requested != "" && (requested != name || strings.HasPrefix(state, "NEVER")) {
			name, state = requested, string(api.Pending)
		}
		rows = append(rows, []string{v.instances[i].Namespace, v.instances[i].Name, v.instances[i].VersionKey(), name, state})
	}
	return rows
}
