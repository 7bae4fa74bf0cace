package command

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// dryRunFlag is the name of the flag.
const dryRunFlag = "dry-run"

// DryRun is the flag --dry-run of a command that writes objects: none, client or server. Without a value it is server. The zero value is none.
type DryRun string

// The values of the flag.
const (
	// DryRunNone writes.
	DryRunNone DryRun = "none"
	// DryRunClient sends no write. The command may read the server.
	DryRunClient DryRun = "client"
	// DryRunServer lets the server try each write, without storing it.
	DryRunServer DryRun = "server"
)

// DryRuns returns the values of the flag.
func DryRuns() []string {
	return []string{string(DryRunNone), string(DryRunClient), string(DryRunServer)}
}

// AddFlag adds the flag.
func (d *DryRun) AddFlag(flags *pflag.FlagSet) {
	*d = DryRunNone
	flags.Var(d, dryRunFlag, "change nothing: none, client (send no write) or server (let the server try it); without a value it is server")
	flags.Lookup(dryRunFlag).NoOptDefVal = string(DryRunServer)
}

// Writes reports whether a command writes objects of a server. Each such command has the flag of DryRun.
func Writes(cmd *cobra.Command) bool { return cmd != nil && cmd.Flags().Lookup(dryRunFlag) != nil }

// String implements pflag.Value.
func (d *DryRun) String() string { return string(*d) }

// Set implements pflag.Value.
func (d *DryRun) Set(text string) error {
	switch DryRun(text) {
	case DryRunNone, DryRunClient, DryRunServer:
		*d = DryRun(text)
		return nil
	}
	return fmt.Errorf("must be none, client or server")
}

// Type implements pflag.Value. It is the type that kubectl shows.
func (*DryRun) Type() string { return "string" }

// IsSet reports whether the command must change nothing.
func (d DryRun) IsSet() bool { return d == DryRunClient || d == DryRunServer }

// Sends reports whether the command sends its writes to the server, to be tried or stored.
func (d DryRun) Sends() bool { return d != DryRunClient }

// Options returns the value of the field dryRun of a request.
func (d DryRun) Options() []string {
	if d == DryRunServer {
		return []string{metav1.DryRunAll}
	}
	return nil
}

// Suffix marks the lines of a dry run, as kubectl does.
func (d DryRun) Suffix() string {
	switch d {
	case DryRunClient:
		return " (dry run)"
	case DryRunServer:
		return " (server dry run)"
	}
	return ""
}
