package schema

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/internal/manifest"
)

// readRevisions reads the definitions below paths in two revisions: REV..REV, or REV and the
// working tree. A revision may be left out of a range; it is HEAD then, as in git. A side
// without definitions is empty.
func readRevisions(cmd *cobra.Command, revisions string, paths []string) (old, updated definitions, err error) {
	from, to, isRange := strings.Cut(revisions, "..")
	if from == "" {
		from = "HEAD"
	}
	if old, err = readRevision(cmd.Context(), from, paths); err != nil {
		return old, updated, err
	}
	if !isRange {
		updated, err = readDefinitions(cmd, paths)
		return old, updated, err
	}
	if to == "" {
		to = "HEAD"
	}
	updated, err = readRevision(cmd.Context(), to, paths)
	if err == nil && len(old.all)+len(updated.all) == 0 {
		places := []string{strings.Join(paths, ", ") + " of " + from + " and " + to}
		err = noDefinition(places, slices.Concat(old.skipped, updated.skipped))
	}
	return old, updated, err
}

// readRevision reads the definitions below paths in one revision.
func readRevision(ctx context.Context, revision string, paths []string) (definitions, error) {
	blobs, err := listBlobs(ctx, revision, paths)
	if err != nil {
		return definitions{}, err
	}
	reader := definitionReader{patches: map[string]bool{}}
	files := make([]file, 0, len(blobs))
	err = readBlobs(ctx, blobs, func(name string, data []byte) error {
		if slices.Contains(manifest.KustomizationNames, path.Base(name)) {
			for _, patch := range manifest.Patches(data) {
				reader.patches[revision+":"+path.Join(path.Dir(name), patch)] = true
			}
		}
		files = append(files, file{revision + ":" + name, data})
		return nil
	})
	if err != nil {
		return definitions{}, err
	}
	var found definitions
	for _, f := range files {
		if err := found.add(f.name, reader.read(manifest.Input{Name: f.name}, f.data)); err != nil {
			return definitions{}, err
		}
	}
	return found, nil
}

// file is the contents of a blob.
type file struct {
	name string
	data []byte
}

// blob is a file of a revision.
type blob struct{ name, hash string }

// listBlobs lists the YAML and JSON files below paths in a revision, and the kustomizations in the directories above.
func listBlobs(ctx context.Context, revision string, paths []string) ([]blob, error) {
	args := slices.Concat([]string{"ls-tree", "-r", "-z", "--end-of-options", revision, "--"}, paths, kustomizationsAbove(paths))
	out, err := git(ctx, nil, args...)
	if err != nil {
		return nil, err
	}
	var blobs []blob
	for entry := range strings.SplitSeq(string(out), "\x00") {
		// MODE blob HASH TAB NAME
		header, name, ok := strings.Cut(entry, "\t")
		fields := strings.Fields(header)
		if ok && len(fields) == 3 && fields[1] == "blob" && isManifest(name) {
			blobs = append(blobs, blob{name, fields[2]})
		}
	}
	return blobs, nil
}

// isManifest reports whether a file may have definitions, or is a kustomization.
func isManifest(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name)) || slices.Contains(manifest.KustomizationNames, path.Base(name))
}

// kustomizationsAbove returns the names that kustomizations have in the directories above paths. git ignores those that do
// not exist.
func kustomizationsAbove(paths []string) []string {
	var names []string
	for _, p := range paths {
		for dir := path.Clean(p); dir != "." && dir != "/" && dir != ".." && !strings.HasPrefix(dir, "../"); {
			dir = path.Dir(dir)
			for _, name := range manifest.KustomizationNames {
				if full := path.Join(dir, name); !slices.Contains(names, full) {
					names = append(names, full)
				}
			}
		}
	}
	return names
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
