package kudo

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/internal/cli/arguments"
	"holdfast.dev/holdfast/internal/operator/lint"
	"holdfast.dev/holdfast/internal/operator/pack"
)

func newMigrateCommand() *cobra.Command {
	var destination string
	cmd := &cobra.Command{
		Use:   "migrate PACKAGE",
		Short: "Replace API versions that Kubernetes has removed",
		Long: `Replace the API versions in a package that Kubernetes has removed, such as
policy/v1beta1, by their successors. The difference goes to stdout. The package is
written to --destination; the original stays as it is.

Only the apiVersion of an object changes. Where the successor needs more than that,
the object stays as it is and is named, as by package verify.`,
		Example: "  holdfast kudo package migrate ./kafka --destination ./kafka-migrated",
		Args:    arguments.Exactly("PACKAGE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			files, err := pack.LoadFiles(args[0])
			if err != nil {
				return err
			}
			migrated, err := lint.Migrate(cmd.Context(), files)
			if err != nil {
				return fmt.Errorf("read package %s: %w", args[0], err)
			}
			p, err := migrated.Parse()
			if err != nil {
				return fmt.Errorf("migrate package %s: %w", args[0], err)
			}
			if err := fileDifference(cmd.OutOrStdout(), files, migrated); err != nil {
				return err
			}
			for _, finding := range lint.Kinds(cmd.Context(), p) {
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", finding.Severity, finding); err != nil {
					return err
				}
			}
			if destination == "" {
				return nil
			}
			if err := writeFolder(destination, migrated); err != nil {
				return fmt.Errorf("write package %s: %w", destination, err)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "package %s is in %s\n", p.VersionName(), destination)
			return err
		},
	}
	cmd.Flags().StringVarP(&destination, "destination", "d", "", "new folder for the package; without it, only the difference is shown")
	return cmd
}

// fileDifference prints the unified diffs of the files that differ.
func fileDifference(out io.Writer, before, after pack.Files) error {
	for _, name := range slices.Sorted(maps.Keys(after)) {
		text, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
			A: slices.Collect(strings.Lines(string(before[name]))), B: slices.Collect(strings.Lines(string(after[name]))),
			FromFile: name, ToFile: name, Context: 3,
		})
		if err != nil {
			return err
		}
		if _, err := io.WriteString(out, text); err != nil {
			return err
		}
	}
	return nil
}

// writeFolder writes the files of a package to a folder that does not exist yet.
func writeFolder(folder string, files pack.Files) error {
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		return err
	}
	for name, text := range files {
		file := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
