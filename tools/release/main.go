// Command release writes the files of a release: an archive with the binary for each platform,
// its bill of materials, a container image, the checksums, and the files for Homebrew and krew.
//
//	go -C tools run ./release -version v0.1.0 -commit 0123abc -date 1790000000 -source .. -out ../bin/release
//
// The result depends on the source, the flags and the version of Go alone: paths, times and the
// order of files are fixed. Two runs for one commit write the same bytes.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// release is one release, and the folders that it is made from and written to.
type release struct {
	// Version is the version, with a v in front, such as v0.1.0.
	Version string
	// Commit is the commit that the release is built from.
	Commit string
	// Date is the time of that commit. Every file has it.
	Date time.Time
	// URL is the address that the files can be downloaded from.
	URL string

	// source is the root of the checkout, and out the folder for the files.
	source, out string
}

// platform is an operating system and an architecture, by the names of Go.
type platform struct{ OS, Arch string }

func (p platform) String() string { return p.OS + "/" + p.Arch }

// platforms are the platforms of a release.
var platforms = []platform{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "arm64"}}

// binary is the program for one platform.
type binary struct {
	platform
	// path is the file of the program.
	path string
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// run builds the programs and writes the release.
func run(args []string) error {
	var r release
	var date int64
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.StringVar(&r.Version, "version", "", "version of the release, such as v0.1.0")
	flags.StringVar(&r.Commit, "commit", "", "commit that the release is built from")
	flags.Int64Var(&date, "date", 0, "time of the commit, in seconds since 1970")
	flags.StringVar(&r.URL, "url", "https://holdfast.dev/releases", "address of the releases, for Homebrew and krew")
	flags.StringVar(&r.source, "source", "..", "root of the checkout")
	flags.StringVar(&r.out, "out", "", "folder for the files; it is created")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if r.Version == "" || r.Commit == "" || date == 0 || r.out == "" {
		return fmt.Errorf("-version, -commit, -date and -out are required")
	}
	r.Date = time.Unix(date, 0).UTC()
	work, err := os.MkdirTemp("", "holdfast-release-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	var binaries []binary
	for _, p := range platforms {
		built := binary{platform: p, path: filepath.Join(work, p.OS+"-"+p.Arch, program)}
		fmt.Fprintf(os.Stderr, "release: build %s\n", p)
		if err := r.build(built); err != nil {
			return err
		}
		binaries = append(binaries, built)
	}
	return r.write(binaries)
}

// write writes the files of a release, for programs that are built. The checksums come last,
// because they cover all other files.
func (r release) write(binaries []binary) error {
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	var archives []archive
	for _, b := range binaries {
		made, err := r.writeArchive(b)
		if err != nil {
			return fmt.Errorf("archive for %s: %w", b, err)
		}
		archives = append(archives, made)
		if err := r.writeMaterials(b); err != nil {
			return fmt.Errorf("bill of materials for %s: %w", b, err)
		}
	}
	if err := r.writeImage(binaries); err != nil {
		return fmt.Errorf("container image: %w", err)
	}
	if err := r.writeManifests(archives); err != nil {
		return fmt.Errorf("manifests: %w", err)
	}
	if err := r.writeChecksums(); err != nil {
		return fmt.Errorf("checksums: %w", err)
	}
	return nil
}

// name returns the name of a file of the release for a platform.
func (r release) name(p platform, suffix string) string {
	return fmt.Sprintf("%s_%s_%s_%s%s", program, r.Version, p.OS, p.Arch, suffix)
}
