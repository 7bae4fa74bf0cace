package cli

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/internal/apiserver/maintenance"
	"holdfast.dev/holdfast/internal/backup"
	"holdfast.dev/holdfast/internal/cli/arguments"
	"holdfast.dev/holdfast/internal/cli/command"
)

const restoreHelp = `Make the data directory of a server from a backup.

The directory must be empty or not exist. Then start the server with it. Objects
keep their UIDs and resourceVersions, and certificates and tokens stay valid. The
server continues with higher resourceVersions than the old one had, so that every
client that watches lists again.

A backup that is damaged or cut off is refused, and nothing is written. --check
also says which keys the encrypted objects of the backup need, and which it has.`

func newRestoreCommand() *cobra.Command {
	var dataDir string
	var check bool
	cmd := &cobra.Command{
		Use:   "restore FILE --data-dir DIR",
		Short: "Make the data directory of a server from a backup",
		Long:  restoreHelp,
		Example: `  # Restore, and start the server again
  holdfast restore monday.backup --data-dir ./restored
  holdfast serve --data-dir ./restored`,
		Args: arguments.Exactly("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if check == (dataDir != "") {
				return errors.New("restore: name a new directory with --data-dir, or use --check")
			}
			file, err := os.Open(args[0])
			if err != nil {
				return fmt.Errorf("restore: %w", err)
			}
			defer func() { _ = file.Close() }()
			defer showProgress(cmd.ErrOrStderr(), func() string { return "restore: " + args[0] + " is read" })()
			if check {
				return command.Refused(checkBackup(cmd.OutOrStdout(), file))
			}
			return command.Refused(restore(cmd.OutOrStdout(), file, dataDir))
		},
	}
	cmd.Flags().StringVar(&dataDir, "data-dir", "", "the new data directory")
	cmd.Flags().BoolVar(&check, "check", false, "only check that the backup is complete and undamaged, and print which keys it needs and has")
	return cmd
}

func checkBackup(w io.Writer, file *os.File) error {
	info, err := backup.Check(file)
	if err != nil {
		return fmt.Errorf("%s: %w", file.Name(), err)
	}
	_, err = fmt.Fprintf(w, "%s is complete and undamaged: %s\n%s", file.Name(), describeBackup(info), describeKeys(info))
	return err
}

func restore(w io.Writer, file *os.File, dataDir string) error {
	restored, err := maintenance.Restore(file, dataDir)
	if err != nil {
		return fmt.Errorf("%s: %w", file.Name(), err)
	}
	next := "holdfast serve --data-dir " + dataDir
	switch encryption := restored.Encryption; {
	case restored.EncryptionConfig != "":
		next += " --encryption-provider-config " + restored.EncryptionConfig
	case encryption != nil && len(encryption.Missing()) > 0:
		next += " --encryption-provider-config FILE"
	}
	_, err = fmt.Fprintf(w, "%s is restored from a backup: %s\n%sStart the server with: %s\n", dataDir, describeBackup(restored.Info),
		describeMissing(restored.Info), next)
	return err
}
