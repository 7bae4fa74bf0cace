// Package image names the container image that commands install on other clusters.
package image

import (
	"cmp"
	"fmt"
	"io"
)

// placeholder is the name of the image if the program was built without another one. No registry has it.
const placeholder = "holdfast"

// linked is the name of the image without its tag. The linker sets it to that of dist/release.env, see the Makefile.
var linked string

// Default returns the image of a version of the program.
func Default(version string) string { return cmp.Or(linked, placeholder) + ":" + version }

// Note says so if an image is the default one of a program without the name of a registry.
func Note(out io.Writer, image, version string) {
	if image != placeholder+":"+version || cmp.Or(linked, placeholder) != placeholder {
		return
	}
	_, _ = fmt.Fprintf(out, "note: no registry has the image %s, because this program was built without the name of a registry. The nodes of the\n"+
		"cluster must have an image of this name already, or name yours with --image\n", image)
}
