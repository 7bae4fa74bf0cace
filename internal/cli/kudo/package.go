package kudo

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/internal/cli/arguments"
	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/operator/lint"
	"holdfast.dev/holdfast/internal/operator/pack"
)

func newPackageCommand() *cobra.Command {
	return group("package", "Make, verify and look into packages",
		newPackageNewCommand(), newAddCommand(), newCreateCommand(), newVerifyCommand(), newMigrateCommand(), newListCommand())
}

func newCreateCommand() *cobra.Command {
	var destination string
	cmd := &cobra.Command{
		Use:   "create FOLDER",
		Short: "Make a .tgz of a folder",
		Long: `Make a .tgz of a folder, if it is a package that can be installed. The same
folder gives the same bytes each time. The path of the .tgz goes to stdout.`,
		Example: "  holdfast kudo package create ./kafka --destination ./repository",
		Args:    arguments.Exactly("FOLDER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			files, err := pack.LoadFiles(args[0])
			if err != nil {
				return err
			}
			p, err := files.Parse()
			if err != nil {
				return fmt.Errorf("read package %s: %w", args[0], err)
			}
			if err := p.Verify().Err(); err != nil {
				return command.Refused(fmt.Errorf("package %s is not valid:\n%w", args[0], err))
			}
			archive := filepath.Join(destination, p.VersionName()+".tgz")
			if err := writeArchive(archive, files); err != nil {
				return fmt.Errorf("write package %s: %w", archive, err)
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), archive)
			return err
		},
	}
	cmd.Flags().StringVarP(&destination, "destination", "d", ".", "folder for the .tgz")
	cmd.Flags().BoolP("overwrite", "w", true, "replace a .tgz that exists; it is always replaced")
	return cmd
}

// writeArchive writes a .tgz atomically.
func writeArchive(file string, files pack.Files) error {
	folder := filepath.Dir(file)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	temporary, err := os.CreateTemp(folder, ".package-*")
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name())
	if err := errors.Join(files.Archive(temporary), temporary.Chmod(0o644), temporary.Close()); err != nil {
		return err
	}
	return os.Rename(temporary.Name(), file)
}

func newVerifyCommand() *cobra.Command {
	var from source
	cmd := &cobra.Command{
		Use:   "verify PACKAGE",
		Short: "Find everything that is wrong with a package",
		Long: `Find everything that is wrong with a package. An error keeps the package from being
installed; the exit code is then 1. A warning names a part that nothing uses, a
parameter that sets an immutable field of Kubernetes but is not marked immutable, an
API version that Kubernetes has removed, or a field that a kind does not have. The
command renders the package to find the last three.`,
		Example: "  holdfast kudo package verify ./kafka",
		Args:    arguments.Exactly("PACKAGE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := from.load(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			findings := p.Verify()
			if findings.Err() == nil {
				frozen, err := lint.Frozen(cmd.Context(), p)
				if err != nil {
					// Templates that cannot be rendered with the defaults make an install fail.
					findings = append(pack.Findings{{Severity: pack.Failure, Path: "templates", Message: err.Error()}}, findings...)
				}
				findings = append(findings, frozen...)
				findings = append(findings, lint.Kinds(cmd.Context(), p)...)
			}
			failures := 0
			for _, finding := range findings {
				if finding.Severity == pack.Failure {
					failures++
				}
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", finding.Severity, finding); err != nil {
					return err
				}
			}
			if failures > 0 {
				return command.Refused(fmt.Errorf("package %s is not valid (errors: %d, warnings: %d)", args[0], failures, len(findings)-failures))
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "package %s is valid (warnings: %d)\n", p.VersionName(), len(findings))
			return err
		},
	}
	from.addFlags(cmd.Flags())
	return cmd
}
