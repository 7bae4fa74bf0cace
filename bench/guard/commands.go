package guard

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// commands returns kubectl commands of which all clusters must make the same. Files are in dir.
func commands(dir string) [][]string {
	merge := func(patch string) []string { return []string{"patch", "widget", "anchor", "--type=merge", "-p", patch} }
	small := filepath.Join(dir, "small.yaml")
	return [][]string{
		merge(`{"spec":{"size":"small"}}`),
		append(merge(`{"spec":{"size":"small"}}`), "--dry-run=server"),
		{"patch", "widget", "anchor", "--type=json", "-p", `[{"op":"replace","path":"/spec/size","value":"small"}]`},
		merge(`{"spec":{"ports":[{"name":"https","port":443}]}}`),
		merge(`{"spec":{"ports":[{"name":"http","port":81}]}}`),
		merge(`{"spec":{"ports":null,"labels":null,"size":"small"}}`),
		merge(`{"spec":{"labels":{"team":null}}}`),
		merge(`{"spec":{"labels":{"tier":"gold"}}}`),
		merge(`{"spec":{"size":"huge"}}`),
		merge(`{"spec":{"size":null}}`),
		{"scale", "widget", "anchor", "--replicas=3"},
		{"label", "widget", "anchor", "a=b"},
		{"annotate", "widget", "anchor", "a=b"},
		append(merge(`{"status":{"replicas":2}}`), "--subresource=status"),
		{"apply", "-f", small},
		{"apply", "--server-side", "--force-conflicts", "-f", small},
		{"replace", "-f", small},
		{"edit", "widget", "anchor"},
		{"get", "widget", "anchor", "-o", "jsonpath={.spec}"},
		{"apply", "-f", small, "--force"}, // the objects may differ after this one
		{"delete", "widget", "anchor"},
	}
}

// compareCommands runs the commands on all clusters. The first is our server.
func (t *trial) compareCommands(ctx context.Context, clusters []*cluster) error {
	widget, err := os.ReadFile(filepath.Join(t.Examples, "widget.yaml"))
	if err != nil {
		return err
	}
	if _, err := t.write("small.yaml", strings.ReplaceAll(string(widget), "size: large", "size: small")); err != nil {
		return err
	}
	var failed error
	all := commands(t.dir)
	for _, args := range all {
		what := "kubectl " + strings.Join(args, " ")
		ours := t.command(ctx, clusters[0], t.Kubectl, args...)
		t.printf("$ %s\n%s", what, ours)
		for _, c := range clusters[1:] {
			theirs := t.command(ctx, c, t.Kubectl, args...)
			failed = errors.Join(failed, t.explain(difference{cluster: c.name, write: what, ours: ours, theirs: theirs}))
		}
	}
	t.printf("%d commands of kubectl on %d clusters", len(all), len(clusters))
	return failed
}
