package cli

import (
	"fmt"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/cli/command"
)

// connect returns the configuration and a client of the server that the flags select.
func connect(server *command.Server) (*rest.Config, kubernetes.Interface, error) {
	config, err := server.Config()
	if err != nil {
		return nil, nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, nil, fmt.Errorf("your kubeconfig: %w", err)
	}
	return config, client, nil
}
