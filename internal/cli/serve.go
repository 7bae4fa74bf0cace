package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/cli/arguments"
	"holdfast.dev/holdfast/internal/cli/heap"
	"holdfast.dev/holdfast/internal/failpoint"
)

const serveHelp = `Serve the Kubernetes API.

By default, etcd runs inside this process, and the data directory has its data, the
certificates and the admin kubeconfig. When the server is ready, it prints one line
with its address and the path of that kubeconfig. After SIGTERM or Ctrl-C it finishes
the running requests and ends within five seconds.

The server runs no pods and no workload controllers. It validates Deployments, stores
them and sends them to watches. Your own controllers act on them.

The flags have the names of kube-apiserver's flags. If this program is called
kube-apiserver, it runs "holdfast serve".`

func newServeCommand() *cobra.Command {
	s := newServeSettings()
	cmd := &cobra.Command{
		Use:     "serve",
		Short:   "Serve the Kubernetes API, with etcd inside or outside",
		Long:    serveHelp,
		Args:    arguments.None,
		Version: apiserver.KubernetesVersion + "+holdfast",
		Example: `  # A server for this machine; the kubeconfig is printed
  holdfast serve

  # In a directory and on a port of your own
  holdfast serve --data-dir ./data --secure-port 7443

  # On an etcd cluster, any number of replicas
  holdfast serve --etcd-servers https://10.0.0.1:2379,https://10.0.0.2:2379 \
    --etcd-cafile ca.crt --etcd-certfile client.crt --etcd-keyfile client.key

  # With the flags in a file, without their dashes
  holdfast serve --config serve.yaml`,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.serve(cmd) },
	}
	// kube-apiserver prints its version in this form.
	cmd.SetVersionTemplate("Kubernetes {{.Version}}\n")
	s.addFlags(cmd.Flags())
	return cmd
}

// serve reads the settings, sets up the log and runs the server.
func (s *serveSettings) serve(cmd *cobra.Command) error {
	var unread error
	if s.file != "" {
		unread = readSettings(s.file, cmd.Flags())
	}
	s.log.out = cmd.ErrOrStderr()
	log, err := s.log.use(cmd.Context())
	if err != nil {
		return err
	}
	return s.log.lifecycle(log, "server", func() error {
		if unread != nil {
			return unread
		}
		return s.run(cmd, log)
	})
}

// run starts the server and runs it until its context ends.
func (s *serveSettings) run(cmd *cobra.Command, log *slog.Logger) error {
	if err := failpoint.Serve(); err != nil {
		return err
	}
	warnings, err := checkForeign(cmd.Flags())
	if err != nil {
		return err
	}
	for _, warning := range warnings {
		if s.log.format != "" {
			log.Warn(warning)
			continue
		}
		_, _ = fmt.Fprintln(cmd.ErrOrStderr(), "holdfast: "+warning)
	}
	config, err := s.complete()
	if err != nil {
		return err
	}
	config.Version = version
	if limit := heap.Limit(); limit > 0 {
		log.Info("the memory of this process is limited by its cgroup", "softLimitBytes", limit)
	}
	server, err := apiserver.New(cmd.Context(), config)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%w: choose another port with --secure-port", err)
	}
	if err != nil {
		return err
	}
	context.AfterFunc(cmd.Context(), func() { log.Info("server stops") })
	return server.Run(cmd.Context(), func() {
		heap.Grow(cmd.Context())
		heap.Shrink(cmd.Context())
		log.Info("server is ready", "url", server.URL(), "kubeconfig", server.Kubeconfig())
		s.log.announce(cmd.OutOrStdout(), slog.LevelInfo, fmt.Sprintf("ready at %s, kubeconfig %s", server.URL(), server.Kubeconfig()))
	})
}

// defaultDataDir returns the data directory of the user for holdfast.
func defaultDataDir() (string, error) {
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "holdfast"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", errors.New("no home directory to keep data in: name one with --data-dir")
	}
	return filepath.Join(home, ".local", "share", "holdfast"), nil
}
