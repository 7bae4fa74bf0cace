package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/maintenance"
	"holdfast.dev/holdfast/internal/backup"
	"holdfast.dev/holdfast/internal/cli/arguments"
	"holdfast.dev/holdfast/internal/cli/command"
)

const backupHelp = `Write a backup of a server to a file: all objects, and the keys of the server.

The server of your kubeconfig writes it while it runs, also if it uses an etcd
cluster. With --data-dir the command reads the data of a server that is stopped.
The objects are those of one moment. "holdfast restore" makes a data directory
from the file, on this machine or another one.

The file has the keys of the certificate authority, of the tokens of service
accounts and of encrypted objects. It is as secret as the server itself: only its
owner can read it, and only an administrator can make it.

If objects are encrypted and the EncryptionConfiguration does not have all keys
of them, the command writes nothing. For a server that is stopped, name the file
with --encryption-provider-config. With --without-keys, the backup has no keys
of encrypted objects: keep that file elsewhere, because the restored server does
not start without it.`

func newBackupCommand() *cobra.Command {
	var b backupFlags
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Write all objects and keys of a server to a file",
		Long:  backupHelp,
		Example: `  # A backup of the running server
  holdfast backup monday.backup

  # Is the file complete and undamaged?
  holdfast restore monday.backup --check`,
		Args: arguments.Exactly("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			info, err := writeNew(args[0], func(w io.Writer) error {
				counted := &countingWriter{Writer: w}
				defer showProgress(cmd.ErrOrStderr(), func() string { return "backup: written: " + counted.megabytes() })()
				return b.write(cmd.Context(), counted)
			}, b.check)
			if errors.Is(err, context.Canceled) {
				// The process must not exit with 0 after a signal: there is no backup.
				err = command.Interrupted(errors.New("interrupted, and no backup was written"))
			}
			if err != nil {
				return fmt.Errorf("backup: %w", err)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "backup written to %s: %s\n%s", args[0], describeBackup(info), describeMissing(info))
			return err
		},
	}
	flags := cmd.Flags()
	b.AddFlags(flags)
	flags.StringVar(&b.stopped.DataDir, "data-dir", "", "data directory of a server that is stopped")
	addEtcdFlags(flags, &b.stopped)
	flags.BoolVar(&b.options.WithoutKeys, "without-keys", false, "leave out the keys of encrypted objects, which the restored server then needs "+
		"from elsewhere")
	return cmd
}

// backupFlags holds the flags of the command.
type backupFlags struct {
	command.Server
	// stopped is the configuration of a server that is stopped.
	stopped apiserver.Config
	options maintenance.BackupOptions
}

func (b backupFlags) write(ctx context.Context, w io.Writer) error {
	if b.options.WithoutKeys && b.stopped.EncryptionConfig != "" {
		return errors.New("--without-keys leaves out the keys that are in --encryption-provider-config: use one of them")
	}
	if b.stopped.DataDir != "" {
		if b.Kubeconfig != "" {
			return errors.New("--data-dir is for a server that is stopped, --kubeconfig for one that runs")
		}
		b.stopped.Version = version
		return maintenance.Backup(ctx, b.stopped, b.options, w)
	}
	if len(b.stopped.Etcd.Servers) > 0 || b.stopped.EncryptionConfig != "" {
		return errors.New("the flags about etcd and encryption are for a server that is stopped: name its --data-dir too")
	}
	_, client, err := connect(&b.Server)
	if err != nil {
		return err
	}
	request := client.CoreV1().RESTClient().Get().AbsPath(maintenance.BackupPath)
	if b.options.WithoutKeys {
		request.Param(maintenance.WithoutKeysParameter, "true")
	}
	stream, err := request.Stream(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }()
	_, err = io.Copy(w, stream)
	return err
}

// check returns an error if a backup has keys that it must not have: a server of an earlier version does not
// know that it can leave them out.
func (b backupFlags) check(info backup.Info) error {
	if b.options.WithoutKeys && (info.Encryption == nil || len(info.Encryption.Present) > 0) {
		return errors.New("the server is older than this program and cannot leave out the keys of encrypted objects: nothing was written")
	}
	return nil
}

// writeNew writes a backup to a new file that only its owner can read. A file of that name is replaced when
// the backup is complete, accepted and on disk, and stays as it is after an error.
func writeNew(name string, write func(io.Writer) error, accept func(backup.Info) error) (_ backup.Info, err error) {
	file, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".partial-")
	if err != nil {
		return backup.Info{}, err
	}
	defer func() {
		_ = file.Close()
		if err != nil {
			_ = os.Remove(file.Name())
		}
	}()
	if err := write(file); err != nil {
		return backup.Info{}, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return backup.Info{}, err
	}
	info, err := backup.Check(file)
	if err == nil {
		err = accept(info)
	}
	if err != nil {
		return backup.Info{}, err
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return backup.Info{}, err
	}
	return info, os.Rename(file.Name(), name)
}

// describeBackup returns a text about a backup for the user.
func describeBackup(info backup.Info) string {
	return fmt.Sprintf("%.1f MB, taken at %s", float64(info.Size())/1e6, info.Created.Format("2006-01-02 15:04:05 MST"))
}
