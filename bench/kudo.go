package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"holdfast.dev/holdfast/bench/side"
)

// runKudo is the command "bench kudo". It installs operator packages on kube-apiserver with
// "holdfast kudo init" and "holdfast kudo manager", and takes a package through its life.
func runKudo(ctx context.Context, args []string) error {
	var chosen sides
	flags := flag.NewFlagSet("bench kudo", flag.ContinueOnError)
	chosen.register(flags)
	packages := flags.String("packages", "../examples/operators/zookeeper", "directory with versions 0.1.0 and 0.2.0 of the package")
	address := flags.String("webhook-address", "127.0.0.1:9443", "address of the manager")
	account := flags.String("service-account", "kudo-manager", "service account of the manager")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if chosen.peer == "" {
		return errors.New("-peer: required")
	}
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	server, err := side.Peer(chosen.peer).Start(dir)
	if err != nil {
		return err
	}
	defer server.Stop()
	admin := filepath.Join(dir, "admin.kubeconfig")
	if err := server.WriteKubeconfig(admin, side.Administrator()); err != nil {
		return err
	}
	client, err := server.Client(side.Administrator())
	if err != nil {
		return err
	}
	defer client.Close()
	l := &life{binary: chosen.holdfast, kubeconfig: admin, client: client}
	initialize := []string{"init", "--webhook-url", "https://" + *address, "--service-account", *account}
	if err := l.kudo(ctx, initialize...); err != nil {
		return err
	}
	manager, err := server.StartProgram(side.Program{
		Name: "manager", Path: l.binary, Account: side.ServiceAccount{Namespace: "kudo-system", Name: *account},
		Args: func(_, kubeconfig string) []string {
			return []string{
				"kudo", "manager", "--kubeconfig", kubeconfig, "--webhook-address", *address, "--health-address", "",
				"--service-account", *account, "--unattended",
			}
		},
	})
	if err != nil {
		return err
	}
	defer manager.Stop()
	if err := l.kudo(ctx, append(initialize, "--wait")...); err != nil {
		return err
	}
	if err := l.run(ctx, *packages); err != nil {
		return fmt.Errorf("%w\nlog of the manager:\n%s", err, manager.Log())
	}
	return nil
}

// life takes a package through its life on one server.
type life struct {
	binary, kubeconfig string
	client             *side.Client
}

// kudo runs a command of holdfast kudo and prints it.
func (l *life) kudo(ctx context.Context, args ...string) error {
	fmt.Println("$ holdfast kudo", strings.Join(args, " "))
	cmd := exec.CommandContext(ctx, l.binary, append([]string{"kudo"}, append(args, "--kubeconfig", l.kubeconfig)...)...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stdout
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("holdfast kudo %s: %w", args[0], err)
	}
	return nil
}

// run installs, updates, upgrades, rolls back and uninstalls the package, and checks that the
// webhook refuses what it must refuse.
func (l *life) run(ctx context.Context, packages string) error {
	const path = "/apis/kudo.dev/v1beta1/namespaces/default/"
	older, newer := filepath.Join(packages, "0.1.0"), filepath.Join(packages, "0.2.0")
	steps := []func() error{
		func() error {
			return l.kudo(ctx, "install", older, "--instance", "zookeeper", "-p", "CLUSTER_NAME=main", "--wait")
		},
		func() error { return l.kudo(ctx, "update", "zookeeper", "-p", "NODE_COUNT=5", "--wait") },
		func() error {
			return l.refused(ctx, "parameter 'CLUSTER_NAME' is immutable but was changed from 'main' to 'other'", side.Request{
				Method: http.MethodPatch, Path: path + "instances/zookeeper", ContentType: "application/merge-patch+json",
				Body: []byte(`{"spec":{"parameters":{"CLUSTER_NAME":"other"}}}`),
			})
		},
		func() error {
			return l.refused(ctx, "instances use it: default/zookeeper",
				side.Request{Method: http.MethodDelete, Path: path + "operatorversions/zookeeper-3.8.4-0.1.0"})
		},
		func() error {
			return l.kudo(ctx, "upgrade", newer, "--instance", "zookeeper",
				"--accept-immutable", "POD_POLICY", "--accept-immutable", "BACKUP_CLASS", "--wait")
		},
		func() error { return l.kudo(ctx, "rollback", "zookeeper", "--wait") },
		func() error { return l.kudo(ctx, "uninstall", "zookeeper", "--wait") },
		func() error {
			_, err := l.client.Do(ctx, side.Request{Method: http.MethodDelete, Path: path + "operatorversions/zookeeper-3.8.4-0.1.0"})
			return err
		},
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	fmt.Println("all done")
	return nil
}

// refused sends a request that the webhook must refuse with a message.
func (l *life) refused(ctx context.Context, message string, request side.Request) error {
	_, err := l.client.Do(ctx, request)
	var refusal *side.StatusError
	if !errors.As(err, &refusal) || !strings.Contains(refusal.Text, message) {
		return fmt.Errorf("%s %s: %w, want: %s", request.Method, request.Path, err, message)
	}
	fmt.Printf("refused with %d: %s\n", refusal.Code, message)
	return nil
}
