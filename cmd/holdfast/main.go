// Command holdfast is a Kubernetes-compatible control plane in which what must
// not change, cannot.
package main

import (
	"os"

	"holdfast.dev/holdfast/cli"
)

func main() { os.Exit(cli.Main()) }
