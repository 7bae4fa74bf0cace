package bundle

import (
	"fmt"
	"os"
	"os/exec"
)

const (
	// program is the name of the program.
	program = "holdfast"
	// mainPackage is the package of the program, versionPackage the one with its version, and imagePackage the one with the image
	// that it installs on clusters.
	mainPackage, versionPackage, imagePackage = "./cmd/holdfast", "holdfast.dev/holdfast/internal/cli", "holdfast.dev/holdfast/internal/cli/image"
)

// compile compiles the program for a platform. Without C the program is static. With -trimpath it
// has no paths of this machine. The version comes from the flags and not from the state of the
// checkout, so a build of an exported tree is the same.
func (r Release) compile(b Binary) error {
	linked := fmt.Sprintf("-s -w -X %s.linkedVersion=%s -X %s.linkedCommit=%s -X %s.linked=%s",
		versionPackage, r.Version, versionPackage, r.Commit, imagePackage, r.Image)
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", linked, "-o", b.Path, mainPackage)
	cmd.Dir, cmd.Stdout, cmd.Stderr = r.Source, os.Stderr, os.Stderr
	// GOFLAGS and GOEXPERIMENT of a user would change the program, and so would GOAMD64.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+b.OS, "GOARCH="+b.Arch,
		"GOFLAGS=", "GOEXPERIMENT=", "GOAMD64=v1", "GOARM64=v8.0", "GOWORK=off")
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build for %s: %w", b, err)
	}
	return nil
}
