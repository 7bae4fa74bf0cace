// Command reference writes the generated pages of docs/reference into a folder. `make generate`
// runs it at the root of the checkout.
//
//	go run ./cmd/reference docs/reference
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"holdfast.dev/holdfast/internal/cli"
	"holdfast.dev/holdfast/internal/cli/reference"
)

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

func run(folder string) error {
	names, err := reference.Names(os.DirFS("."))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "names.md"), []byte(names), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "commands.md"), []byte(reference.Commands(cli.Commands())), 0o644)
}
