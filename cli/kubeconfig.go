package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"holdfast.dev/holdfast/access"
)

const (
	// signTimeout is the time that the server has to sign an approved request.
	signTimeout = 30 * time.Second
	// signPoll is the interval at which the request is read.
	signPoll = 50 * time.Millisecond
)

const kubeconfigHelp = `Print a kubeconfig for a person or a node.

A key is made here, a certificate for it is requested from the server and
approved with your own credential, and the kubeconfig goes to stdout. The key
is nowhere else. What the new user may do is for roles to say.

Nobody gets the group system:masters this way, and only nodes get system:nodes.`

func newKubeconfigCommand() *cobra.Command {
	var request credential
	var file string
	cmd := &cobra.Command{
		Use:   "kubeconfig USER",
		Short: "Print a kubeconfig for a person or a node",
		Long:  kubeconfigHelp,
		Example: `  # For a person who is in two groups
  holdfast kubeconfig jane --group dev --group ops > jane.kubeconfig

  # For the agent of a node
  holdfast kubeconfig --node host-1 > host-1.kubeconfig`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				request.user = args[0]
			}
			if err := request.complete(); err != nil {
				return err
			}
			data, err := request.kubeconfig(cmd.Context(), file)
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(data)
			return err
		},
	}
	cmd.Flags().StringVar(&file, "kubeconfig", "", "your own kubeconfig (default: $KUBECONFIG, or ~/.kube/config)")
	cmd.Flags().StringArrayVar(&request.groups, "group", nil, "a group of the user; may be given several times")
	cmd.Flags().StringVar(&request.node, "node", "", "name of the node that the kubeconfig is for, instead of a user")
	return cmd
}

// credential is the certificate to request, with the flags of the command.
type credential struct {
	user   string
	groups []string
	node   string
	signer string
}

// complete checks the flags and sets user, groups and signer of the certificate.
func (c *credential) complete() error {
	switch {
	case c.node == "" && c.user == "":
		return errors.New("kubeconfig: name a USER, or a node with --node")
	case c.node != "" && (c.user != "" || len(c.groups) > 0):
		return errors.New("kubeconfig: --node names whom it is for: no USER and no --group beside it")
	case slices.Contains(c.groups, access.AdminGroup):
		return fmt.Errorf("kubeconfig: --group %s: nobody gets that by a certificate; bind the role cluster-admin instead",
			access.AdminGroup)
	case slices.Contains(c.groups, access.NodesGroup):
		return fmt.Errorf("kubeconfig: --group %s: use --node NAME", access.NodesGroup)
	}
	c.signer = certificatesv1.KubeAPIServerClientSignerName
	if c.node != "" {
		subject := access.NodeSubject(c.node)
		c.user, c.groups = subject.User, subject.Groups
		c.signer = certificatesv1.KubeAPIServerClientKubeletSignerName
	}
	return nil
}

// kubeconfig connects to the server with the caller's kubeconfig in file, requests the
// certificate, and returns a new kubeconfig with it.
func (c *credential) kubeconfig(ctx context.Context, file string) ([]byte, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = file
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("your kubeconfig: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("your kubeconfig: %w", err)
	}
	pair, err := c.sign(ctx, client)
	if err != nil {
		return nil, err
	}
	ca, err := rootCA(config.CAData, config.CAFile)
	if err != nil {
		return nil, err
	}
	return (&access.Authority{CertPEM: ca}).Kubeconfig(config.Host, c.user, pair)
}

// sign requests a certificate, approves the request and waits until it is signed.
func (c *credential) sign(ctx context.Context, client kubernetes.Interface) (access.KeyPair, error) {
	return access.Enrollment{
		Subject: access.Subject{User: c.user, Groups: c.groups}, Signer: c.signer,
		Prefix: "holdfast-", Approval: "HoldfastKubeconfig", Poll: signPoll, Limit: signTimeout,
	}.Enroll(ctx, client)
}

// rootCA returns the certificate authority in the caller's kubeconfig. The new kubeconfig
// gets the same one.
func rootCA(data []byte, file string) ([]byte, error) {
	if len(data) > 0 {
		return data, nil
	}
	if file == "" {
		return nil, errors.New("your kubeconfig names no certificate authority to trust")
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("certificate authority: %w", err)
	}
	return data, nil
}
