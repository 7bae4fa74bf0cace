package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// guardCommand is a kubectl command of which both servers must make the same.
type guardCommand struct {
	args []string
	// differs says why the answers differ, empty if they must not. The exit codes are equal in any case.
	differs string
}

const (
	schemaFirst = "kube-apiserver validates the schema before it asks webhooks"
	onlyCode    = "the output has the names of temporary files"
)

// guardCommands returns the commands. Files are in dir.
func guardCommands(dir string) []guardCommand {
	merge := func(patch string) []string { return []string{"patch", "widget", "anchor", "--type=merge", "-p", patch} }
	small := filepath.Join(dir, "small.yaml")
	return []guardCommand{
		{args: merge(`{"spec":{"size":"small"}}`)},
		{args: append(merge(`{"spec":{"size":"small"}}`), "--dry-run=server")},
		{args: []string{"patch", "widget", "anchor", "--type=json", "-p", `[{"op":"replace","path":"/spec/size","value":"small"}]`}},
		{args: merge(`{"spec":{"ports":[{"name":"https","port":443}]}}`)},
		{args: merge(`{"spec":{"ports":[{"name":"http","port":81}]}}`)},
		{args: merge(`{"spec":{"ports":null,"labels":null,"size":"small"}}`)},
		{args: merge(`{"spec":{"labels":{"team":null}}}`)},
		{args: merge(`{"spec":{"labels":{"tier":"gold"}}}`)},
		{args: merge(`{"spec":{"size":"huge"}}`), differs: schemaFirst},
		{args: merge(`{"spec":{"size":null}}`), differs: schemaFirst},
		{args: []string{"scale", "widget", "anchor", "--replicas=3"}},
		{args: []string{"label", "widget", "anchor", "a=b"}},
		{args: []string{"annotate", "widget", "anchor", "a=b"}},
		{args: append(merge(`{"status":{"replicas":2}}`), "--subresource=status")},
		{args: []string{"apply", "-f", small}},
		{args: []string{"apply", "-f", small, "--force"}},
		{args: []string{"apply", "--server-side", "--force-conflicts", "-f", small}},
		{args: []string{"replace", "-f", small}},
		{args: []string{"edit", "widget", "anchor"}, differs: onlyCode},
		{args: []string{"get", "widget", "anchor", "-o", "jsonpath={.spec}"}},
		{args: []string{"delete", "widget", "anchor"}},
	}
}

// compare runs the commands on both servers. An exception that explains nothing is an error.
func (t *trial) compare(ctx context.Context, examples string) error {
	widget, err := os.ReadFile(filepath.Join(examples, "widget.yaml"))
	if err != nil {
		return err
	}
	small := strings.ReplaceAll(string(widget), "size: large", "size: small")
	if err := os.WriteFile(filepath.Join(t.dir, "small.yaml"), []byte(small), 0o600); err != nil {
		return err
	}
	for _, command := range guardCommands(t.dir) {
		name := "kubectl " + strings.Join(command.args, " ")
		ours, peer := t.command(ctx, "ours", t.kubectl, command.args...), t.command(ctx, "peer", t.kubectl, command.args...)
		fmt.Printf("$ %s\n%s\n", name, ours)
		switch same := ours == peer; {
		case exitOf(ours) != exitOf(peer), !same && command.differs == "":
			return fmt.Errorf("%s: our server:\n%s\nkube-apiserver with the guard:\n%s", name, ours, peer)
		case same && command.differs != "":
			return fmt.Errorf("%s: the exception %q explains nothing", name, command.differs)
		case !same:
			fmt.Printf("  differs: %s\n%s\n", command.differs, peer)
		}
	}
	fmt.Println("all outcomes are equal")
	return nil
}

// exitOf returns the exit code at the end of an output.
func exitOf(out string) string { return out[strings.LastIndex(out, "exit "):] }

// failures stops the guard, starts it again and uninstalls it.
func (t *trial) failures(ctx context.Context, stop *func()) error {
	widget := []string{"create", "-f", filepath.Join(t.dir, "small.yaml")}
	if err := t.must(ctx, "peer", t.kubectl, widget...); err != nil {
		return err
	}
	(*stop)()
	*stop = func() {}
	change := []string{"patch", "widget", "anchor", "--type=merge", "-p", `{"spec":{"replicas":2}}`}
	if err := t.await(ctx, "failed calling webhook", change...); err != nil {
		return err
	}
	fmt.Println("without a guard, no guarded object can be updated")
	for _, args := range [][]string{
		{"create", "configmap", "free"},
		{"label", "configmap", "free", "a=b"},
		{"create", "configmap", "free", "-n", "kube-system"},
		{"label", "namespace", "default", "a=b"},
	} {
		if err := t.must(ctx, "peer", t.kubectl, args...); err != nil {
			return err
		}
	}
	restarted, err := t.guard(ctx)
	if err != nil {
		return err
	}
	*stop = restarted
	if err := t.must(ctx, "peer", t.kubectl, change...); err != nil {
		return err
	}
	if err := t.must(ctx, "peer", t.binary, "guard", "uninstall"); err != nil {
		return err
	}
	if err := t.await(ctx, "patched", "patch", "widget", "anchor", "--type=merge", "-p", `{"spec":{"size":"large"}}`); err != nil {
		return err
	}
	fmt.Println("uninstalled: the field can be changed")
	return nil
}
