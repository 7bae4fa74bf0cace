package cli

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/access"
	"holdfast.dev/holdfast/internal/cli/arguments"
	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/cli/output"
	"holdfast.dev/holdfast/internal/node"
)

const (
	// signTimeout is the time that the server has to sign an approved request.
	signTimeout = 30 * time.Second
	// signPoll is the interval at which the request is read.
	signPoll = 50 * time.Millisecond
	// minLife is the shortest lifetime of a certificate that can be requested.
	minLife = 10 * time.Minute
)

const kubeconfigHelp = `Make a kubeconfig for a person or a node.

The command creates a key, requests a certificate for it from the server, and
approves the request with your own credential. It writes the kubeconfig to a new
file that only you can read, or to stdout. The key is in no other place. Bind roles
to the new user to give it permissions.

The certificate is valid for --duration, or as long as the server allows. To end
it earlier, use "holdfast revoke".

The server issues no certificate with the group system:masters, and issues one with
the group system:nodes only to nodes.`

func newKubeconfigCommand() *cobra.Command {
	var request credential
	var format string
	cmd := &cobra.Command{
		Use:   "kubeconfig USER",
		Short: "Make a kubeconfig for a person or a node",
		Long:  kubeconfigHelp,
		Example: `  # For a person who is in two groups
  holdfast kubeconfig jane --group dev --group ops --output-file jane.kubeconfig

  # For a user who helps for one day
  holdfast kubeconfig joe --group dev --duration 24h --output-file joe.kubeconfig

  # For the agent of a node
  holdfast kubeconfig --node host-1 --output-file host-1.kubeconfig`,
		Args: arguments.AtMost("USER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := arguments.Format(format, "--output-file"); err != nil {
				return fmt.Errorf("kubeconfig: %w", err)
			}
			if len(args) == 1 {
				request.user = args[0]
			}
			request.json = format == output.JSON
			if err := request.complete(); err != nil {
				return err
			}
			return request.issue(cmd)
		},
	}
	request.AddFlags(cmd.Flags())
	request.dryRun.AddFlag(cmd.Flags())
	cmd.Flags().StringArrayVar(&request.groups, "group", nil, "a group of the user; may be given several times")
	cmd.Flags().StringVar(&request.node, "node", "", "name of the node that the kubeconfig is for, instead of a user")
	cmd.Flags().DurationVar(&request.life, "duration", 0, "how long the certificate is valid, from 10m to 8760h (default: as long as "+
		"the server allows)")
	cmd.Flags().StringVar(&request.file, "output-file", "", "file to write, which must not exist yet; only you can read it (default: stdout)")
	cmd.Flags().StringVarP(&format, "output", "o", output.YAML, "format of the kubeconfig: yaml or json")
	return cmd
}

// credential is the certificate to request, with the flags of the command.
type credential struct {
	command.Server
	dryRun command.DryRun
	user   string
	groups []string
	node   string
	signer string
	// life is how long the certificate is valid; zero means as long as the server allows.
	life time.Duration
	// file is the file to write, empty for stdout, and json the format: JSON instead of YAML.
	file string
	json bool
}

// complete checks the flags and sets user, groups and signer of the certificate.
func (c *credential) complete() error {
	switch {
	case c.node == "" && c.user == "":
		return errors.New("kubeconfig: name a USER, or a node with --node")
	case c.node != "" && (c.user != "" || len(c.groups) > 0):
		return errors.New("kubeconfig: --node already names the user: omit USER and --group")
	case slices.Contains(c.groups, access.AdminGroup):
		return fmt.Errorf("kubeconfig: --group %s: no certificate is issued for this group; bind the role cluster-admin instead",
			access.AdminGroup)
	case c.life != 0 && (c.life < minLife || c.life > lifetime):
		return fmt.Errorf("kubeconfig: --duration %s: must be between 10m and 8760h", c.life)
	case slices.Contains(c.groups, access.NodesGroup):
		return fmt.Errorf("kubeconfig: --group %s: use --node NAME", access.NodesGroup)
	}
	c.signer = certificatesv1.KubeAPIServerClientSignerName
	if c.node != "" {
		if err := node.CheckName(c.node); err != nil {
			return fmt.Errorf("kubeconfig: --node: %w", err)
		}
		subject := access.NodeSubject(c.node)
		c.user, c.groups = subject.User, subject.Groups
		c.signer = certificatesv1.KubeAPIServerClientKubeletSignerName
	}
	return nil
}

// issued is a new kubeconfig with its certificate.
type issued struct {
	kubeconfig []byte
	cert       *x509.Certificate
}

// request connects to the server with the caller's kubeconfig, requests the
// certificate, and returns a new kubeconfig with it.
func (c *credential) request(ctx context.Context) (*issued, error) {
	config, client, err := connect(&c.Server)
	if err != nil {
		return nil, err
	}
	pair, err := c.sign(ctx, client)
	if err != nil {
		return nil, err
	}
	ca, err := rootCA(config.CAData, config.CAFile)
	if err != nil {
		return nil, err
	}
	parsed, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		return nil, fmt.Errorf("the certificate that the server signed: %w", err)
	}
	text, err := (&access.Authority{CertPEM: ca, ServerName: config.ServerName}).Kubeconfig(config.Host, c.user, pair)
	if err != nil {
		return nil, err
	}
	if c.json {
		if text, err = yaml.YAMLToJSON(text); err != nil {
			return nil, err
		}
		text = append(text, '\n')
	}
	return &issued{kubeconfig: text, cert: parsed.Leaf}, nil
}

// sign requests a certificate, approves the request and waits until it is signed.
func (c *credential) sign(ctx context.Context, client kubernetes.Interface) (access.KeyPair, error) {
	return c.enrollment().Enroll(ctx, client)
}

func (c *credential) enrollment() access.Enrollment {
	return access.Enrollment{
		Subject: access.Subject{User: c.user, Groups: c.groups}, Signer: c.signer, Life: c.life,
		Prefix: "holdfast-", Approval: "HoldfastKubeconfig", Poll: signPoll, Limit: signTimeout,
	}
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
