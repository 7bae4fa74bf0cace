package kudo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/cli/arguments"
	"holdfast.dev/holdfast/internal/operator/repo"
)

func newRepoCommand() *cobra.Command {
	return group("repo", "Keep a list of repositories, and make one",
		newRepoAddCommand(), newRepoListCommand(), newRepoRemoveCommand(), newRepoContextCommand(), newIndexCommand())
}

func newRepoAddCommand() *cobra.Command {
	var from source
	cmd := &cobra.Command{
		Use:   "add NAME LOCATION",
		Short: "Add a repository, a URL or a folder with an index.yaml",
		Long: `Add a repository to the list: a URL or a folder with an index.yaml in it. If the list
has a repository of that name, it gets the new location. Commands without --repo use
the first repository of the list.`,
		Example: "  holdfast kudo repo add team https://example.com/operators",
		Args:    arguments.Exactly("NAME", "LOCATION"),
		RunE: func(cmd *cobra.Command, args []string) error {
			file, list, err := from.repositories()
			if err != nil {
				return err
			}
			location := repository(args[1])
			if !isURL(location) {
				// The list is also used from other working directories.
				if location, err = filepath.Abs(location); err != nil {
					return err
				}
			}
			index, err := from.client().Index(cmd.Context(), location)
			if errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("%w: write it with \"holdfast kudo repo index\"", err)
			}
			if err != nil {
				return fetchError{err}
			}
			if err := list.Add(repo.Repository{Name: args[0], URL: location}); err != nil {
				return err
			}
			if err := list.Write(file); err != nil {
				return err
			}
			if unchecked := index.WithoutDigest(); len(unchecked) > 0 {
				cmd.PrintErrf("warning: repository %s: the index has no digest for %s; --%s is needed to install them\n",
					args[0], strings.Join(unchecked, ", "), skipDigestFlag)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "repository %s added (packages: %d)\n", args[0], len(index.Entries))
			return err
		},
	}
	from.addList(cmd.Flags())
	return cmd
}

func newRepoListCommand() *cobra.Command {
	var from source
	var format output
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the repositories; commands without --repo use the first",
		Example: "  holdfast kudo repo list -o yaml",
		Args:    arguments.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, list, err := from.repositories()
			if err != nil {
				return err
			}
			if format != "" {
				return format.print(cmd.OutOrStdout(), list.Repositories)
			}
			rows := [][]string{{"NAME", "LOCATION"}}
			for _, known := range list.Repositories {
				rows = append(rows, []string{known.Name, known.URL})
			}
			return table(cmd.OutOrStdout(), rows)
		},
	}
	from.addList(cmd.Flags())
	format.addFlags(cmd.Flags())
	return cmd
}

func newRepoRemoveCommand() *cobra.Command {
	var from source
	cmd := &cobra.Command{
		Use:     "remove NAME",
		Short:   "Take a repository off the list",
		Example: "  holdfast kudo repo remove team",
		Args:    arguments.Exactly("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			file, list, err := from.repositories()
			if err != nil {
				return err
			}
			if _, err := list.Find(args[0]); err != nil {
				return err
			}
			list.Repositories = slices.DeleteFunc(list.Repositories,
				func(known repo.Repository) bool { return known.Name == args[0] })
			if err := list.Write(file); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "repository %s removed\n", args[0])
			return err
		},
	}
	from.addList(cmd.Flags())
	return cmd
}

func newRepoContextCommand() *cobra.Command {
	var from source
	cmd := &cobra.Command{
		Use:     "context NAME",
		Short:   "Make a repository the first of the list, which commands use without --repo",
		Example: "  holdfast kudo repo context team",
		Args:    arguments.Exactly("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			file, list, err := from.repositories()
			if err != nil {
				return err
			}
			if err := list.Prefer(args[0]); err != nil {
				return err
			}
			if err := list.Write(file); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "repository %s is the first of the list\n", args[0])
			return err
		},
	}
	from.addList(cmd.Flags())
	return cmd
}

func newIndexCommand() *cobra.Command {
	var base, baseOf, merge string
	var from source
	cmd := &cobra.Command{
		Use:   "index FOLDER",
		Short: "Write the index of a folder of packages",
		Long: `Write index.yaml into a folder of .tgz packages, which makes it a repository. Every
one of them must be valid.`,
		Example: `  holdfast kudo repo index ./repository
  holdfast kudo repo index ./repository --merge-repo team --url-repo team`,
		Args: arguments.Exactly("FOLDER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if baseOf != "" {
				var err error
				if base, err = from.listedURL(baseOf); err != nil {
					return err
				}
			}
			index, err := repo.Build(args[0], base, metav1.Now())
			if err != nil {
				return err
			}
			if merge != "" {
				from.repository = merge
				other, err := from.index(cmd.Context())
				if err != nil {
					return err
				}
				if err := index.Merge(other, args[0]); err != nil {
					return err
				}
			}
			text, err := index.Bytes()
			if err != nil {
				return err
			}
			file := filepath.Join(args[0], repo.IndexFileName)
			if err := os.WriteFile(file, text, 0o644); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s written (packages: %d)\n", file, len(index.Search("")))
			return err
		},
	}
	cmd.Flags().StringVar(&base, "url", "", "URL of the folder that is put in front of the file names (default: they are relative to "+
		"the index)")
	cmd.Flags().StringVar(&baseOf, "url-repo", "", "repository of the list whose URL is put in front of the file names, instead of --url")
	cmd.MarkFlagsMutuallyExclusive("url", "url-repo")
	cmd.Flags().StringVar(&merge, "merge", "", "repository whose packages are added to the index: a name from the list, a URL or a folder")
	cmd.Flags().StringVar(&merge, "merge-repo", "", "the same as --merge")
	cmd.Flags().BoolP("overwrite", "w", true, "replace an index that exists; it is always replaced")
	from.addList(cmd.Flags())
	return cmd
}
