package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/mod/semver"

	"holdfast.dev/holdfast/tools/bundle"
)

// git runs git in a folder, and returns what it prints. It asks for no password.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		message := strings.TrimSpace(string(exit.Stderr))
		for _, arg := range args {
			message = strings.ReplaceAll(message, arg, redacted(arg))
		}
		return "", fmt.Errorf("git %s: %s", args[0], message)
	}
	return strings.TrimSpace(string(out)), err
}

// checkCheckout checks the commit of the release, and returns it.
func (p *publication) checkCheckout(ctx context.Context) (string, error) {
	commit, err := git(ctx, p.checkout, "rev-parse", "HEAD")
	if err != nil {
		return "", err
	}
	changed, err := git(ctx, p.checkout, "status", "--porcelain")
	if err != nil {
		return "", err
	}
	if changed != "" {
		return "", fmt.Errorf("files are not committed, and would not be in the release:\n%s", changed)
	}
	changes, err := os.ReadFile(filepath.Join(p.checkout, "CHANGELOG.md"))
	if err != nil {
		return "", err
	}
	if heading := "\n## [" + (bundle.Release{Version: p.version}).Number() + "]"; !bytes.Contains(changes, []byte(heading)) {
		return "", fmt.Errorf("CHANGELOG.md has no section %q", strings.TrimSpace(heading))
	}
	local, err := git(ctx, p.checkout, "tag", "--list", p.version, "--format", "%(if)%(*objectname)%(then)%(*objectname)%(else)%(objectname)%(end)")
	if err == nil && local != "" && local != commit {
		err = fmt.Errorf("the tag %s of this checkout is at %.12s, and not at the commit of the release", p.version, local)
	}
	return commit, err
}

// tag is the tag of the commit in the remote repository.
type tag struct{ *publication }

func (t *tag) String() string { return "tag " + t.version + " in " + redacted(t.Remote) }

func (t *tag) reach(ctx context.Context) error {
	found, err := t.remote(ctx)
	if err != nil || found != "" {
		return err
	}
	_, err = git(ctx, t.checkout, "push", "--quiet", "--dry-run", t.Remote, "HEAD:refs/tags/"+t.version)
	return err
}

func (t *tag) published(ctx context.Context) (bool, error) {
	found, err := t.remote(ctx)
	if err == nil && found != "" && found != t.commit {
		err = fmt.Errorf("it is at %.12s there, and not at the commit of the release", found)
	}
	return found != "", err
}

func (t *tag) publish(ctx context.Context) error {
	local, err := git(ctx, t.checkout, "tag", "--list", t.version)
	if err == nil && local == "" {
		_, err = git(ctx, t.checkout, "tag", "--annotate", "--message", "holdfast "+t.version, t.version, t.commit)
	}
	if err == nil {
		_, err = git(ctx, t.checkout, "push", "--quiet", t.Remote, "refs/tags/"+t.version)
	}
	return err
}

// remote returns the commit of the tag in the remote repository, or nothing.
func (t *tag) remote(ctx context.Context) (string, error) {
	text, err := git(ctx, t.checkout, "ls-remote", t.Remote, "refs/tags/"+t.version, "refs/tags/"+t.version+"^{}")
	if err != nil {
		return "", err
	}
	found := ""
	for line := range strings.Lines(text) {
		// An annotated tag has a second line, with the commit.
		found, _, _ = strings.Cut(line, "\t")
	}
	return found, nil
}

// The paths of manifests in the repositories of package managers, by their names in the release.
var (
	formulaPaths = map[string]string{"holdfast.rb": "Formula/holdfast.rb"}
	krewPaths    = map[string]string{"krew-holdfast.yaml": "plugins/holdfast.yaml", "krew-kudo.yaml": "plugins/kudo.yaml"}
)

// manifests are files in the repository of a package manager.
type manifests struct {
	*publication
	what, url string
	// paths are the paths in the repository, by the names of files in the release.
	paths map[string]string
	// clone is the clone of the repository.
	clone string
}

func (m *manifests) String() string { return m.what + " in " + redacted(m.url) }

func (m *manifests) reach(ctx context.Context) error {
	clone, err := os.MkdirTemp(m.work, "clone-")
	if err != nil {
		return err
	}
	if _, err := git(ctx, m.work, "clone", "--quiet", "--depth", "1", m.url, clone); err != nil {
		return err
	}
	m.clone = clone
	branches, err := git(ctx, clone, "branch", "--remotes")
	if err != nil || branches == "" {
		// An empty repository has nothing that a push without an effect could send.
		return err
	}
	_, err = git(ctx, clone, "push", "--quiet", "--dry-run", "origin", "HEAD")
	return err
}

// versionLine matches the version in a formula or in a manifest for krew.
var versionLine = regexp.MustCompile(`(?m)^ *version:? +"?v?([0-9][^"\s]*)"?$`)

func (m *manifests) published(context.Context) (bool, error) {
	all := true
	for name, path := range m.paths {
		want, err := os.ReadFile(filepath.Join(m.files, name))
		if err != nil {
			return false, err
		}
		found, err := os.ReadFile(filepath.Join(m.clone, path))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
		all = all && err == nil && bytes.Equal(found, want)
		if newer := versionLine.FindSubmatch(found); newer != nil && semver.Compare("v"+string(newer[1]), m.version) > 0 {
			return false, fmt.Errorf("%s has the newer version %s", path, newer[1])
		}
	}
	return all, nil
}

func (m *manifests) publish(ctx context.Context) error {
	for name, path := range m.paths {
		text, err := os.ReadFile(filepath.Join(m.files, name))
		if err != nil {
			return err
		}
		target := filepath.Join(m.clone, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(target), 0o755), os.WriteFile(target, text, 0o644)); err != nil {
			return err
		}
		if _, err := git(ctx, m.clone, "add", path); err != nil {
			return err
		}
	}
	if _, err := git(ctx, m.clone, "commit", "--quiet", "--message", "holdfast "+m.version); err != nil {
		return err
	}
	_, err := git(ctx, m.clone, "push", "--quiet", "origin", "HEAD")
	return err
}
