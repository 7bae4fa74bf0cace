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
	"strconv"
	"strings"

	"holdfast.dev/holdfast/bench/compare"
)

// runCompare is the command "bench compare". It writes the figures and a report with plots, or prints the report.
func runCompare(ctx context.Context, args []string) error {
	var chosen sides
	settings := compare.Full()
	flags := flag.NewFlagSet("bench compare", flag.ContinueOnError)
	chosen.register(flags)
	out := flags.String("out", "", "file for the report; its plots and figures.json are written to a directory of the same name; "+
		"empty prints the report")
	from := flags.String("from", "", "write the report from this file of figures, and measure nothing")
	stages := flags.String("stages", strings.Join(settings.Stages, ","), "the stages to run:\n"+compare.StageHelp()+
		"\nwith -stages or -rows, the rows replace those of figures.json, and the others stay")
	short := flags.Bool("short", false, "send few requests, to try the program; the flags below are ignored")
	flags.IntVar(&settings.Rounds, "rounds", settings.Rounds, "samples of each row of requests, on each side")
	flags.IntVar(&settings.Starts, "starts", settings.Starts, "samples of each row about starts and memory, on each side")
	flags.Float64Var(&settings.Work, "work", settings.Work, "fraction of the full number of requests in a sample; at least 200, or all of a row with fewer")
	flags.Float64Var(&settings.Others, "others", settings.Others, "fraction of the CPU time that other processes may use during a sample")
	flags.IntVar(&settings.Repeats, "repeats", settings.Repeats, "how often a sample is taken again if other processes used more")
	definitions := flags.String("definitions", join(settings.Definitions), "numbers of definitions in the rows about them")
	objects := flags.String("objects", join(settings.Objects), "numbers of stored objects in the rows about them")
	stored := flags.String("stored", join(settings.Stored), "numbers of objects in the rows about the memory of one")
	flags.IntVar(&settings.Informers, "informers", settings.Informers, "number of informers that list large objects at once")
	flags.IntVar(&settings.Large, "large", settings.Large, "number of the objects of 100 KB that they list")
	flags.IntVar(&settings.GroupVersions, "group-versions", settings.GroupVersions, "number of group versions that kubectl discovers")
	flags.StringVar(&settings.Kubectl, "kubectl", settings.Kubectl, "the kubectl of Kubernetes; without it, the stage discovery is left out")
	rows := flags.String("rows", "", "regular expression that chooses rows of requests")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *from != "" {
		figures, err := compare.Read(*from)
		if err != nil {
			return err
		}
		return write(figures, *out)
	}
	if err := choose(&settings, *stages, *definitions, *objects); err != nil {
		return err
	}
	var err error
	if settings.Stored, err = ascending(*stored); err != nil {
		return fmt.Errorf("-stored: %w", err)
	}
	if settings.Rows, err = regexp.Compile(*rows); err != nil {
		return fmt.Errorf("-rows: %w", err)
	}
	if *short {
		kubectl := settings.Kubectl
		settings = compare.Short()
		settings.Kubectl = kubectl
	}
	settings.Flags = given(flags)
	return measure(ctx, chosen, settings, *out)
}

// choose sets the stages, and the numbers of definitions and objects.
func choose(settings *compare.Settings, stages, definitions, objects string) error {
	settings.Stages = strings.Split(stages, ",")
	for _, name := range settings.Stages {
		if !slices.Contains(compare.StageNames(), name) {
			return fmt.Errorf("-stages: no stage %q; the stages are %s", name, strings.Join(compare.StageNames(), ", "))
		}
	}
	var err error
	if settings.Definitions, err = numbers(definitions); err != nil {
		return fmt.Errorf("-definitions: %w", err)
	}
	if settings.Objects, err = ascending(objects); err != nil {
		return fmt.Errorf("-objects: %w", err)
	}
	return nil
}

// ascending reads numbers and returns them in their order, each once.
func ascending(text string) ([]int, error) {
	all, err := numbers(text)
	slices.Sort(all)
	return slices.Compact(all), err
}

// measure runs the stages. After each row it saves the figures, so that a run that is cut off keeps the rows that are complete.
func measure(ctx context.Context, chosen sides, settings compare.Settings, out string) error {
	earlier := &compare.Figures{}
	if out != "" && (strings.Contains(settings.Flags, "-stages=") || strings.Contains(settings.Flags, "-rows=")) {
		var err error
		if earlier, err = compare.Read(figuresOf(out)); err != nil {
			return err
		}
	}
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	save := func(so *compare.Figures) error {
		if out == "" {
			return nil
		}
		merged, err := earlier.Merge(so)
		if err != nil {
			return err
		}
		return merged.Write(figuresOf(out))
	}
	progress := func(line string) { fmt.Fprintln(os.Stderr, line) }
	options := compare.Options{Sides: chosen.list(), Dir: dir, Progress: progress, Save: save}
	measured, failed := compare.Run(ctx, options, settings)
	if len(measured.Lines) == 0 {
		return failed
	}
	figures, err := earlier.Merge(measured)
	if err != nil {
		return errors.Join(failed, err)
	}
	return errors.Join(failed, save(measured), write(figures, out))
}

// figuresOf returns the file with the figures of a report.
func figuresOf(report string) string { return filepath.Join(folderOf(report), "figures.json") }

// folderOf returns the directory with the plots and figures of a report.
func folderOf(report string) string { return strings.TrimSuffix(report, filepath.Ext(report)) }

// join writes numbers with commas between them.
func join(all []int) string {
	var texts []string
	for _, n := range all {
		texts = append(texts, strconv.Itoa(n))
	}
	return strings.Join(texts, ",")
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

// write writes the report and its plots, or prints the report.
func write(figures *compare.Figures, file string) error {
	if file == "" {
		fmt.Print(figures.Markdown(nil))
		return nil
	}
	folder := folderOf(file)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	links := map[string]string{}
	for _, section := range figures.Sections() {
		plot := figures.Plot(section)
		if plot == "" {
			continue
		}
		name := strings.ReplaceAll(section, " ", "-") + ".svg"
		if err := os.WriteFile(filepath.Join(folder, name), []byte(plot), 0o644); err != nil {
			return err
		}
		links[section] = filepath.Base(folder) + "/" + name
	}
	return os.WriteFile(file, []byte(figures.Markdown(links)), 0o644)
}
