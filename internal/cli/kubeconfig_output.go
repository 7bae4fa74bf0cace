package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// readableByOthers are the permissions of a file that let its group or all users read it.
const readableByOthers fs.FileMode = 0o044

// shortened is how much earlier than requested a certificate may expire without a warning. The
// server rounds to seconds, and its clock may differ.
const shortened = time.Minute

// issue requests a certificate with the caller's kubeconfig, and writes the kubeconfig with it to c.file, or
// to stdout.
func (c *credential) issue(cmd *cobra.Command) error {
	if c.dryRun.IsSet() {
		return c.try(cmd)
	}
	if c.file == "" {
		made, err := c.request(cmd.Context())
		if err != nil {
			return err
		}
		c.warnIfShortened(cmd, made)
		warnIfReadable(cmd.ErrOrStderr(), cmd.OutOrStdout())
		_, err = cmd.OutOrStdout().Write(made.kubeconfig)
		return err
	}
	// The file is created first, so that no certificate is requested that cannot be written.
	out, err := createSecretFile(c.file)
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	made, err := c.request(cmd.Context())
	if err == nil {
		_, err = out.Write(made.kubeconfig)
	}
	if err := errors.Join(err, out.Close()); err != nil {
		return errors.Join(err, os.Remove(c.file))
	}
	c.warnIfShortened(cmd, made)
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s written for %s: valid until %s, serial %x\n",
		c.file, c.user, made.cert.NotAfter.UTC().Format(time.RFC3339), made.cert.SerialNumber)
	return err
}

// try lets the server try the request for a certificate, unless the dry run is one of the client. It writes no kubeconfig.
func (c *credential) try(cmd *cobra.Command) error {
	_, client, err := connect(&c.Server)
	if err == nil && c.dryRun.Sends() {
		err = c.enrollment().Try(cmd.Context(), client)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "certificate for %s requested%s\n", c.user, c.dryRun.Suffix())
	return err
}

// warnIfShortened warns if the server signed for a shorter time than requested.
func (c *credential) warnIfShortened(cmd *cobra.Command, made *issued) {
	if c.life != 0 && time.Until(made.cert.NotAfter) < c.life-shortened {
		cmd.PrintErrf("warning: the server signs for a shorter time than %s: the certificate is valid until %s\n",
			c.life, made.cert.NotAfter.UTC().Format(time.RFC3339))
	}
}

// createSecretFile creates a file that only its owner can read. It is an error if the file
// exists: it may be a kubeconfig with other clusters, or a link.
func createSecretFile(name string) (*os.File, error) {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%s exists: name another file, or remove it first", name)
	}
	return file, err
}

// warnIfReadable warns if a private key that is written to out can be read by others: out is a
// terminal, or a file that other users can read.
func warnIfReadable(stderr, out io.Writer) {
	file, ok := out.(*os.File)
	if !ok {
		return
	}
	if term.IsTerminal(int(file.Fd())) {
		_, _ = fmt.Fprintln(stderr, "warning: the terminal shows a private key: write it to a file with --output-file FILE")
		return
	}
	info, err := file.Stat()
	if err == nil && info.Mode().IsRegular() && info.Mode().Perm()&readableByOthers != 0 {
		_, _ = fmt.Fprintf(stderr, "warning: stdout is a file that other users can read (mode %04o), and it has a private key: "+
			"write it with --output-file FILE\n", info.Mode().Perm())
	}
}
