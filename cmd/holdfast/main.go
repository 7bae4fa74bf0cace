// Command holdfast is a Kubernetes-compatible control plane. Its commands are in package
// cli.
package main

import (
	"os"

	"holdfast.dev/holdfast/internal/cli"
)

func main() { os.Exit(cli.Main()) }
