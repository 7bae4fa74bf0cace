// Command publish builds a release and publishes it: see tools/publish.sh and dist/release.env.
//
//	tools/publish.sh v0.1.0 --dry-run
//	tools/publish.sh v0.1.0
//
// Each place that gets a part of the release is a target. The command first checks that all targets can be reached and written, then
// builds the release, then checks what the targets have already, and only then publishes. A run that fails can be started again: it
// leaves what is published as it is.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"holdfast.dev/holdfast/tools/settings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "publish:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	p := publication{out: out, authorization: os.Getenv("HOLDFAST_UPLOADS_AUTHORIZATION")}
	flags := flag.NewFlagSet("publish", flag.ContinueOnError)
	flags.StringVar(&p.version, "version", "", "version of the release, such as v0.1.0")
	flags.StringVar(&p.checkout, "checkout", "..", "root of the checkout")
	flags.BoolVar(&p.dryRun, "dry-run", false, "check everything, build the release, and publish nothing")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unknown argument %q", flags.Arg(0))
	}
	var err error
	if p.Settings, err = settings.Read(filepath.Join(p.checkout, filepath.FromSlash(settings.File)), os.LookupEnv); err != nil {
		return err
	}
	p.files = filepath.Join(p.checkout, "bin", "release")
	p.build = p.runRelease
	return p.run(ctx)
}

// runRelease builds the release with tools/release.sh.
func (p *publication) runRelease(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "tools/release.sh", p.version, "bin/release")
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.checkout, os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("tools/release.sh: %w", err)
	}
	return nil
}
