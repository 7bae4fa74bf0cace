package kudo

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast.dev/holdfast/api"
)

// named is the Instance that a command is about. It is the first argument, or KUDO's flag
// --instance.
type named struct {
	instance string
}

func (n *named) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&n.instance, "instance", "", "name of the instance, instead of the argument")
}

// take returns the name of the Instance and the other arguments.
func (n *named) take(args []string) (name string, others []string, err error) {
	switch {
	case n.instance != "":
		return n.instance, args, nil
	case len(args) == 0:
		return "", nil, errors.New("give the name of an instance, as an argument or with --instance")
	}
	return args[0], args[1:], nil
}

// only returns the name of the Instance of a command that has no other arguments.
func (n *named) only(args []string) (string, error) {
	name, others, err := n.take(args)
	if err == nil && len(others) > 0 {
		err = fmt.Errorf("unexpected argument %q", others[0])
	}
	return name, err
}

// withInstance returns the function of a command that reads one Instance.
func (c *connection) withInstance(who *named, run func(cmd *cobra.Command, s *server, instance *api.Instance) error) runFunc {
	return c.withName(who, func(cmd *cobra.Command, s *server, name string) error {
		instance, err := s.instance(cmd.Context(), name)
		if err != nil {
			return err
		}
		return run(cmd, s, instance)
	})
}

// withName returns the function of a command that is about one Instance.
func (c *connection) withName(who *named, run func(cmd *cobra.Command, s *server, name string) error) runFunc {
	return func(cmd *cobra.Command, args []string) error {
		name, err := who.only(args)
		if err != nil {
			return err
		}
		s, err := c.connect()
		if err != nil {
			return err
		}
		return run(cmd, s, name)
	}
}
