package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"holdfast.dev/holdfast/bench/compare"
)

// runCompare is the command "bench compare". It writes a report with plots, or prints the report.
func runCompare(ctx context.Context, args []string) error {
	var chosen sides
	settings := compare.Full()
	flags := flag.NewFlagSet("bench compare", flag.ContinueOnError)
	chosen.register(flags)
	out := flags.String("out", "", "file for the report; its plots are written to a directory of the same name; empty prints the report")
	short := flags.Bool("short", false, "send few requests, to try the program; the flags below are ignored")
	flags.IntVar(&settings.Rounds, "rounds", settings.Rounds, "samples of each row of requests, on each side")
	flags.IntVar(&settings.Starts, "starts", settings.Starts, "samples of each row about starts and memory, on each side")
	flags.Float64Var(&settings.Work, "work", settings.Work, "fraction of the full number of requests in a sample")
	flags.Float64Var(&settings.Others, "others", settings.Others, "fraction of the CPU time that other processes may use during a sample")
	flags.IntVar(&settings.Repeats, "repeats", settings.Repeats, "how often a sample is taken again if other processes used more")
	flags.IntVar(&settings.Definitions, "definitions", settings.Definitions, "number of definitions in the rows about them")
	objects := flags.String("objects", "1000,10000", "numbers of stored objects in the rows about them")
	rows := flags.String("rows", "", "regular expression that chooses rows of requests")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var err error
	if settings.Objects, err = numbers(*objects); err != nil {
		return fmt.Errorf("-objects: %w", err)
	}
	slices.Sort(settings.Objects)
	settings.Objects = slices.Compact(settings.Objects)
	if settings.Rows, err = regexp.Compile(*rows); err != nil {
		return fmt.Errorf("-rows: %w", err)
	}
	if *short {
		settings = compare.Short()
	}
	settings.Flags = given(flags)
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	// After an interrupt, the report has the rows that are complete.
	result, failed := compare.Run(ctx, chosen.list(), dir, settings, func(line string) { fmt.Fprintln(os.Stderr, line) })
	if len(result.Sections()) == 0 {
		return failed
	}
	if *out == "" {
		fmt.Print(result.Markdown(nil))
		return failed
	}
	return errors.Join(failed, write(result, *out))
}

// given returns the flags that were set and that change the figures.
func given(flags *flag.FlagSet) string {
	var set []string
	flags.Visit(func(f *flag.Flag) {
		if f.Name != "holdfast" && f.Name != "peer" && f.Name != "out" {
			set = append(set, fmt.Sprintf("-%s=%s", f.Name, f.Value))
		}
	})
	return strings.Join(set, " ")
}

// write writes the report and its plots.
func write(result *compare.Result, file string) error {
	folder := strings.TrimSuffix(file, filepath.Ext(file))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	links := map[string]string{}
	for _, section := range result.Sections() {
		plot := result.Plot(section)
		if plot == "" {
			continue
		}
		name := strings.ReplaceAll(section, " ", "-") + ".svg"
		if err := os.WriteFile(filepath.Join(folder, name), []byte(plot), 0o644); err != nil {
			return err
		}
		links[section] = filepath.Base(folder) + "/" + name
	}
	return os.WriteFile(file, []byte(result.Markdown(links)), 0o644)
}
