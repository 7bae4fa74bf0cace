package kudo

import (
	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/operator/pack"
)

// request is what install and upgrade are asked for: a package, with values, for
// an Instance.
type request struct {
	connection
	source
	values
	waiting
	instance string
	accepted []string
}

// addFlags adds the flags of both; accepting says what it is to accept a parameter.
func (r *request) addFlags(cmd *cobra.Command, accepting string) {
	r.connection.addFlags(cmd.Flags())
	r.source.addFlags(cmd.Flags())
	r.values.addFlags(cmd.Flags())
	r.waiting.addFlags(cmd.Flags())
	cmd.Flags().StringVar(&r.instance, "instance", "", "name of the instance (default: the name of the package)")
	cmd.Flags().StringArrayVar(&r.accepted, "accept-immutable", nil, accepting)
}

// given is the package, which can be installed, and the values.
func (r *request) given(cmd *cobra.Command, location string) (*pack.Package, given, error) {
	p, err := r.verified(cmd.Context(), location)
	if err != nil {
		return nil, nil, err
	}
	if r.instance == "" {
		r.instance = p.Operator.Name
	}
	values, err := r.read(cmd.InOrStdin())
	return p, values, err
}
