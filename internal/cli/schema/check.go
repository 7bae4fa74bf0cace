package schema

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/definition/source"
	"holdfast.dev/holdfast/internal/definition/verdict"
	"holdfast.dev/holdfast/internal/finding"
)

const checkHelp = `Find stored objects that their definition does not accept.

A server keeps the objects of a kind when the definition changes. An object that the new
schema does not accept stays as it is, until a client changes an invalid field or creates
the object again: from a backup, or in another cluster.

The command reads the objects with your rights and judges each by the definition of the
server, as a server judges a new object. It prints the fields of invalid objects with
their values. Name definitions to check only these. The command works with every
Kubernetes API server.

The exit code is 0 if all objects are valid, 1 if some are not, and 2 if objects could
not be read.`

const checkExamples = `  # All definitions of the server of your kubeconfig
  holdfast schema check --objects cluster

  # One definition, for a program
  holdfast schema check --objects cluster -o json widgets.example.com`

// invalidRule is the rule of all findings of the command check.
const invalidRule = "invalid-object"

// maxText bounds a path and a message: both may have values of the object.
const maxText = 500

// checking is one run of the command check.
type checking struct {
	reporting
	cluster
	objects string
	// unread counts the definitions of which the command could not read the objects.
	unread int
}

func newCheckCommand(version string) *cobra.Command {
	rules := []finding.Rule{{ID: invalidRule, Summary: "The definition does not accept a stored object."}}
	c := &checking{reporting: reporting{rules: rules, version: version, failOn: "error"}}
	cmd := &cobra.Command{
		Use:     "check --objects cluster [CRD...]",
		Short:   "Find stored objects that their definition does not accept",
		Long:    checkHelp,
		Example: checkExamples,
		RunE:    c.run,
	}
	c.addFormatFlag(cmd)
	c.AddFlags(cmd.Flags())
	cmd.Flags().StringVar(&c.objects, "objects", "", "the objects to judge: cluster, for those of the server that the kubeconfig names")
	return cmd
}

func (c *checking) run(cmd *cobra.Command, args []string) error {
	if err := c.validate(); err != nil {
		return err
	}
	if c.objects != ofCluster {
		return fmt.Errorf("--objects %q: must be %s", c.objects, ofCluster)
	}
	client, err := c.connect()
	if err != nil {
		return err
	}
	report := &finding.Report{Stored: &finding.Stored{}}
	err = eachDefinition(cmd.Context(), client, args, func(name string, crd *definition.CustomResourceDefinition, err error) {
		if err == nil {
			report.Stored.Definitions++
			err = judgeObjects(cmd.Context(), client, crd, report)
		}
		if err != nil {
			c.unread++
			fmt.Fprintf(cmd.ErrOrStderr(), "holdfast: %s: %v\n", name, err)
		}
	})
	if err != nil {
		return err
	}
	if c.unread == 0 {
		return c.finish(cmd, report)
	}
	if err := c.write(cmd, report); err != nil {
		return err
	}
	return fmt.Errorf("%s; the objects of %s could not be read", report.Summary(), finding.Quantity(c.unread, "definition"))
}

// eachDefinition calls a function for the named definitions, or for all, each with its name. The error is about one definition.
func eachDefinition(
	ctx context.Context, client dynamic.Interface, names []string, visit func(string, *definition.CustomResourceDefinition, error),
) error {
	resource := client.Resource(definition.Resource.WithVersion(definition.V1))
	for _, name := range names {
		obj, err := resource.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			visit(name, nil, err)
			continue
		}
		crd, err := source.FromServer(obj)
		visit(name, crd, err)
	}
	if len(names) > 0 {
		return nil
	}
	return eachPage(func(options metav1.ListOptions) (string, error) {
		list, err := resource.List(ctx, options)
		if err != nil {
			return "", fmt.Errorf("list the definitions: %w", err)
		}
		for i := range list.Items {
			crd, err := source.FromServer(&list.Items[i])
			visit(list.Items[i].GetName(), crd, err)
		}
		return list.GetContinue(), nil
	})
}

// judgeObjects adds the objects of a definition to the report.
func judgeObjects(ctx context.Context, client dynamic.Interface, crd *definition.CustomResourceDefinition, report *finding.Report) error {
	judge, err := verdict.Compile(crd)
	if err != nil {
		return err
	}
	err = listObjects(ctx, client, crd, func(object map[string]any) {
		report.Stored.Objects++
		refusals := judge.Judge(ctx, object)
		if len(refusals) > 0 {
			report.Stored.Invalid++
		}
		for _, refusal := range refusals {
			report.Findings = append(report.Findings, finding.Finding{
				Rule: invalidRule, Severity: finding.Error, Object: crd.Name + " " + nameOf(object), Path: shown(refusal.Path), Message: shown(refusal.Message),
			})
		}
	})
	return errors.Join(err, ctx.Err())
}

// nameOf returns the namespace and the name of an object.
func nameOf(object map[string]any) string {
	u := unstructured.Unstructured{Object: object}
	if u.GetNamespace() == "" {
		return u.GetName()
	}
	return u.GetNamespace() + "/" + u.GetName()
}

// shown returns a text of an object for a terminal: without control characters, and cut if it is long.
func shown(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
	if characters := []rune(text); len(characters) > maxText {
		return string(characters[:maxText]) + "..."
	}
	return text
}
