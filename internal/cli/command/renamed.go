package command

import (
	"fmt"

	"github.com/spf13/pflag"
)

// Renamed adds a hidden flag with an earlier name of a flag. It refuses every value, and names the new flag.
func Renamed(flags *pflag.FlagSet, earlier, now string) {
	flags.Var(renamed(now), earlier, "earlier name of "+now)
	flag := flags.Lookup(earlier)
	flag.Hidden, flag.NoOptDefVal = true, "true"
}

// renamed is the new flag.
type renamed string

// String implements pflag.Value.
func (renamed) String() string { return "" }

// Set implements pflag.Value.
func (r renamed) Set(string) error {
	return fmt.Errorf("the flag has another name: write %s", string(r))
}

// Type implements pflag.Value.
func (renamed) Type() string { return "string" }
