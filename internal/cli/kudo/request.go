package kudo

import (
	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/operator/pack"
)

// request holds the flags of install and upgrade, which both take a package and parameter
// values for an Instance.
type request struct {
	connection
	source
	valueFlags
	waiting
	instance string
	// accepted are the parameters of --accept-immutable.
	accepted []string
}

// addFlags adds the flags of both commands. acceptHelp is the help text of
// --accept-immutable.
func (r *request) addFlags(cmd *cobra.Command, acceptHelp string) {
	r.AddNamespaceFlags(cmd.Flags())
	r.source.addFlags(cmd.Flags())
	r.valueFlags.addFlags(cmd.Flags())
	r.waiting.addFlags(cmd.Flags())
	cmd.Flags().StringVar(&r.instance, "instance", "", "name of the instance (default: the name of the package with -instance after it)")
	cmd.Flags().StringArrayVar(&r.accepted, "accept-immutable", nil, acceptHelp)
}

// packageAndValues reads the package and the parameter values. It returns an error if the
// package is not valid.
func (r *request) packageAndValues(cmd *cobra.Command, location string) (*pack.Package, parameterValues, error) {
	p, err := r.verified(cmd.Context(), location)
	if err != nil {
		return nil, nil, err
	}
	if r.instance == "" {
		r.instance = api.InstanceName(p.Operator.Name)
	}
	values, err := r.read(cmd.InOrStdin())
	return p, values, err
}
