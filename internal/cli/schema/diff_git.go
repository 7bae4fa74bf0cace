package schema

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/internal/definition/source"
	"holdfast.dev/holdfast/internal/manifest"
)

// readRevisions reads the definitions below paths in two revisions: REV..REV, or REV and the
// working tree. A revision may be left out of a range; it is HEAD then, as in git. A side
// without definitions is empty.
func readRevisions(cmd *cobra.Command, revisions string, paths []string) (old, updated map[string]*source.Definition, err error) {
	from, to, isRange := strings.Cut(revisions, "..")
	if from == "" {
		from = "HEAD"
	}
	if old, err = readRevision(cmd.Context(), from, paths); err != nil {
		return nil, nil, err
	}
	if !isRange {
		updated, err = readSide(cmd, paths)
		return old, updated, err
	}
	if to == "" {
		to = "HEAD"
	}
	updated, err = readRevision(cmd.Context(), to, paths)
	if err == nil && len(old)+len(updated) == 0 {
		err = unable(fmt.Errorf("no CustomResourceDefinition in %s of %s and %s", strings.Join(paths, ", "), from, to))
	}
	return old, updated, err
}

// readRevision reads the definitions below paths in one revision.
func readRevision(ctx context.Context, revision string, paths []string) (map[string]*source.Definition, error) {
	blobs, err := listBlobs(ctx, revision, paths)
	if err != nil {
		return nil, unable(err)
	}
	var definitions []*source.Definition
	err = readBlobs(ctx, blobs, func(name string, data []byte) error {
		for _, document := range manifest.Split(revision+":"+name, data) {
			objects, err := document.Objects()
			if err != nil {
				// A directory may have templates, which are not YAML.
				continue
			}
			for _, o := range objects {
				if !source.IsDefinition(o) {
					continue
				}
				def, err := source.Decode(o)
				if err != nil {
					return fmt.Errorf("%s: %w", at(o, ""), err)
				}
				definitions = append(definitions, def)
			}
		}
		return nil
	})
	if err != nil {
		return nil, unable(err)
	}
	return byName(definitions)
}

// blob is a file of a revision.
type blob struct{ name, hash string }

// listBlobs lists the YAML and JSON files below paths in a revision.
func listBlobs(ctx context.Context, revision string, paths []string) ([]blob, error) {
	out, err := git(ctx, nil, slices.Concat([]string{"ls-tree", "-r", "-z", "--end-of-options", revision, "--"}, paths)...)
	if err != nil {
		return nil, err
	}
	var blobs []blob
	for entry := range strings.SplitSeq(string(out), "\x00") {
		// MODE blob HASH TAB NAME
		header, name, ok := strings.Cut(entry, "\t")
		fields := strings.Fields(header)
		if ok && len(fields) == 3 && fields[1] == "blob" && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name)) {
			blobs = append(blobs, blob{name, fields[2]})
		}
	}
	return blobs, nil
}

// readBlobs reads files with one git process and calls visit for each.
func readBlobs(ctx context.Context, blobs []blob, visit func(name string, data []byte) error) error {
	var hashes bytes.Buffer
	for _, b := range blobs {
		hashes.WriteString(b.hash + "\n")
	}
	out, err := git(ctx, &hashes, "cat-file", "--batch")
	if err != nil {
		return err
	}
	reader := bufio.NewReader(bytes.NewReader(out))
	for _, b := range blobs {
		// HASH blob SIZE NEWLINE DATA NEWLINE
		header, err := reader.ReadString('\n')
		if err != nil {
			return fmt.Errorf("read %s: %w", b.name, err)
		}
		fields := strings.Fields(header)
		size, err := strconv.Atoi(fields[len(fields)-1])
		if err != nil {
			return fmt.Errorf("read %s: unexpected answer of git: %s", b.name, strings.TrimSpace(header))
		}
		data := make([]byte, size+1)
		if _, err := io.ReadFull(reader, data); err != nil {
			return fmt.Errorf("read %s: %w", b.name, err)
		}
		if err := visit(b.name, data[:size]); err != nil {
			return err
		}
	}
	return nil
}

// git runs a git command and returns its output.
func git(ctx context.Context, in io.Reader, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Stdin = in
	out, err := cmd.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return nil, fmt.Errorf("git %s: %s", args[0], strings.TrimSpace(string(failed.Stderr)))
	}
	return out, err
}
