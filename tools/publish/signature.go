package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// tool is a program that signs files.
type tool struct {
	name, suffix string
	// arguments returns its arguments for a key, a file and the file of the signature.
	arguments func(key, file, signature, comment string) []string
}

var (
	minisignTool = tool{"minisign", ".minisig", func(key, file, signature, comment string) []string {
		return []string{"-S", "-s", key, "-m", file, "-x", signature, "-t", comment}
	}}
	cosignTool = tool{"cosign", ".sigstore.json", func(key, file, signature, _ string) []string {
		return []string{"sign-blob", "--yes", "--key", key, "--bundle", signature, file}
	}}
)

// signature is the signature of the checksums, beside them.
type signature struct {
	*publication
	tool tool
	key  string
}

func (s *signature) String() string {
	return "signature " + checksums + s.tool.suffix + " by " + s.tool.name
}

func (s *signature) reach(context.Context) error {
	if _, err := exec.LookPath(s.tool.name); err != nil {
		return fmt.Errorf("%s is not installed: install it, or leave the key empty to publish an unsigned release", s.tool.name)
	}
	if s.tool.name == minisignTool.name || filepath.IsAbs(s.key) {
		if _, err := os.Stat(s.key); err != nil {
			return fmt.Errorf("key: %w", err)
		}
	}
	return nil
}

// published reports whether the server has a signature. A signature has the time at which it was made, so another run makes another one.
func (s *signature) published(ctx context.Context) (bool, error) {
	found, err := s.digestAt(ctx, s.Uploads, checksums+s.tool.suffix)
	return found != "", err
}

func (s *signature) publish(ctx context.Context) error {
	made := filepath.Join(s.work, checksums+s.tool.suffix)
	cmd := exec.CommandContext(ctx, s.tool.name, s.tool.arguments(s.key, filepath.Join(s.files, checksums), made, "holdfast "+s.version)...)
	// The tool asks for the password of the key.
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", s.tool.name, err)
	}
	return s.upload(ctx, checksums+s.tool.suffix, made)
}
