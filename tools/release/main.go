// Command release builds the programs of a release and writes its files: see package bundle.
//
//	go -C tools run ./release -version v0.1.0 -commit 0123abc -date 1790000000 -source .. -out ../bin/release
//
// The name of the image and the address of the downloads come from dist/release.env in the source, or from the environment.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"holdfast.dev/holdfast/tools/bundle"
	"holdfast.dev/holdfast/tools/settings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// run builds the programs and writes the release.
func run(args []string) error {
	var r bundle.Release
	var date int64
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.StringVar(&r.Version, "version", "", "version of the release, such as v0.1.0")
	flags.StringVar(&r.Commit, "commit", "", "commit that the release is built from")
	flags.Int64Var(&date, "date", 0, "time of the commit, in seconds since 1970")
	flags.StringVar(&r.Source, "source", "..", "root of the checkout")
	flags.StringVar(&r.Out, "out", "", "folder for the files; it is created")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if r.Version == "" || r.Commit == "" || date == 0 || r.Out == "" {
		return errors.New("-version, -commit, -date and -out are required")
	}
	r.Date = time.Unix(date, 0).UTC()
	places, err := settings.Read(filepath.Join(r.Source, filepath.FromSlash(settings.File)), os.LookupEnv)
	if err != nil {
		return err
	}
	r.Image, r.URL = places.Image, places.Downloads
	if r.Image == bundle.PlaceholderImage {
		fmt.Fprintf(os.Stderr, "release: the image has the placeholder %q as its name: write a name with a registry into %s to publish it\n",
			r.Image, settings.File)
	}
	work, err := os.MkdirTemp("", "holdfast-release-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	binaries, err := r.Build(work)
	if err != nil {
		return err
	}
	return r.Write(binaries)
}
