package owners

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"holdfast.dev/holdfast/internal/managers"
	"holdfast.dev/holdfast/ownership"
)

// defaultRate is the number of requests for single objects that a transfer sends in a second, unless --rate says otherwise. It is the
// rate of requests that kubectl itself allows.
const defaultRate = 50

// bulkOptions are the flags of transfer for many objects.
type bulkOptions struct {
	from   []string
	fields []string
	preset string
	record string
	undo   string
	rate   float32
	selection
}

func (b *bulkOptions) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVar(&b.from, "from", nil,
		"move the fields of these managers, in many objects; a name with * at its end stands for all names with that beginning")
	flags.StringArrayVar(&b.fields, "fields", nil, "with --from, the paths of the fields to move, separated by commas (default: all)")
	flags.StringVar(&b.preset, "preset", "", "move the fields that a tool expects to own: "+strings.Join(presetNames(), ", "))
	flags.StringVar(&b.record, "record", "", "with --from, the file that records what moved: --undo goes back with it, and a run goes on with it")
	flags.StringVar(&b.undo, "undo", "", "move the fields of a record back")
	flags.Float32Var(&b.rate, "rate", defaultRate, "with --from or --undo, how many requests for single objects to send in a second")
	flags.StringVarP(&b.labels, "selector", "l", "", "with --from, change only objects with these labels")
	flags.BoolVarP(&b.allNamespaces, "all-namespaces", "A", false, "with --from, change objects of all namespaces, and those without one")
}

// isBulk reports whether the flags are about many objects.
func (b *bulkOptions) isBulk() bool { return len(b.from) > 0 || b.preset != "" || b.undo != "" }

func presetNames() []string {
	var names []string
	for _, preset := range managers.Presets() {
		names = append(names, preset.Name)
	}
	return names
}

// presetHelp returns the presets with what each does, for the help.
func presetHelp() string {
	var out strings.Builder
	for _, preset := range managers.Presets() {
		fmt.Fprintf(&out, "  %-11s %s\n", preset.Name, strings.ReplaceAll(preset.Help, "\n", "\n"+strings.Repeat(" ", 14)))
	}
	return out.String()
}

// bulk is a transfer of fields in many objects.
type bulk struct {
	managers.Selection
	selection
	// tool limits the objects, nil for all.
	tool   *managers.Tool
	preset string
	fields []string
}

// plan returns the transfer that the flags ask for.
func (t transferOptions) plan(args []string) (*bulk, error) {
	b := t.bulk
	out := &bulk{selection: b.selection, preset: b.preset}
	switch {
	case len(t.fields) > 0 || t.manager != "":
		return nil, errors.New("--field and --manager are for one object: with --from and --preset, name the fields with --fields")
	case b.preset != "" && len(b.from) > 0:
		return nil, errors.New("--preset has managers of its own: leave out --from")
	case !t.dryRun.IsSet() && b.record == "":
		return nil, errors.New("--record FILE is needed, so that --undo can go back; --dry-run lists what would move")
	case b.rate <= 0:
		return nil, fmt.Errorf("--rate %v: must be more than 0", b.rate)
	}
	if _, err := labels.Parse(b.labels); err != nil {
		return nil, fmt.Errorf("--selector %q: %w", b.labels, err)
	}
	for _, arg := range args {
		if strings.Contains(arg, "/") {
			return nil, fmt.Errorf("%q: name types, such as deployments; choose objects with --selector and --namespace", arg)
		}
		out.types = append(out.types, strings.Split(arg, ",")...)
	}
	if err := out.setManagers(t.to, b); err != nil {
		return nil, err
	}
	return out, out.setFields(b.fields)
}

// setManagers sets the managers that lose fields, and the one that gets them.
func (p *bulk) setManagers(to string, b bulkOptions) error {
	if b.preset != "" {
		at := slices.IndexFunc(managers.Presets(), func(preset managers.Preset) bool { return preset.Name == b.preset })
		if at < 0 {
			return fmt.Errorf("--preset %q: must be one of %s", b.preset, strings.Join(presetNames(), ", "))
		}
		preset := managers.Presets()[at]
		p.From, p.To, p.tool = preset.From, preset.To, preset.Tool
		if to != "" && preset.Tool != nil {
			return fmt.Errorf("--to %q: the preset %s moves fields to %s", to, preset.Name, preset.To.Manager)
		}
	}
	for _, name := range b.from {
		if name == "" || name == "*" {
			return fmt.Errorf("--from %q: name a manager", name)
		}
		p.From = append(p.From, managers.Writer{Manager: name})
	}
	switch {
	case to == "" && b.preset == "":
		return errors.New("--to MANAGER is needed: the manager that gets the fields")
	case to == managers.ClientSideApply || to == managers.BeforeFirstApply:
		return fmt.Errorf("--to %s: kubectl apply removes fields by its last-applied configuration, not by its managed fields; "+
			"write that with \"kubectl apply set-last-applied\"", to)
	case len(to) > 128 || strings.ContainsFunc(to, func(r rune) bool { return r < ' ' }):
		return fmt.Errorf("--to %q: not the name of a manager", to)
	case to != "":
		p.To = managers.ByName(to)
	}
	return nil
}

// setFields parses the paths of --fields.
func (p *bulk) setFields(texts []string) error {
	for _, text := range texts {
		for _, path := range splitPaths(text) {
			parsed, err := ownership.ParsePath(path)
			if err != nil {
				return fmt.Errorf("--fields: %w", err)
			}
			p.Fields, p.fields = append(p.Fields, parsed), append(p.fields, path)
		}
	}
	return nil
}

// splitPaths splits a list of paths at its commas, except those between brackets and quotes.
func splitPaths(list string) []string {
	var paths []string
	start, depth, quoted := 0, 0, false
	for i, r := range list {
		switch {
		case r == '"' && (i == 0 || list[i-1] != '\\'):
			quoted = !quoted
		case quoted:
		case r == '[':
			depth++
		case r == ']':
			depth--
		case r == ',' && depth == 0:
			paths, start = append(paths, list[start:i]), i+1
		}
	}
	return append(paths, list[start:])
}

// header returns the header of the record of a transfer.
func (p *bulk) header(cluster string) recordHeader {
	h := recordHeader{
		Format: recordFormat, Cluster: cluster, From: p.From, To: p.To, Fields: p.fields, Preset: p.preset,
		Types: p.types, Namespace: p.namespace, Selector: p.labels,
	}
	if p.allNamespaces {
		h.Namespace = ""
	}
	return h
}

// notesTo returns where a command writes what is not its result.
func notesTo(cmd *cobra.Command) io.Writer { return cmd.ErrOrStderr() }
