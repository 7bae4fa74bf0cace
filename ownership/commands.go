package ownership

import (
	"slices"
	"strings"
	"time"
)

// Commands has the commands that wrote the fields of one object, newest first.
type Commands struct {
	Entries []Command `json:"entries,omitempty"`
}

// Command is one imperative write.
type Command struct {
	// Command is the command line without arguments: "kubectl set image".
	Command string `json:"command"`
	// Manager is the field manager of the write.
	Manager string    `json:"manager"`
	Time    time.Time `json:"time"`
	// Fields are the paths that it changed, as Path.String writes them. If it changed more
	// than MaxFields, some paths are those of a parent of several changed fields.
	Fields []string `json:"fields"`
}

// The limits of what is stored for one object. The oldest commands are dropped
// first.
const (
	// MaxFields is how many changed fields of one write are stored.
	MaxFields   = 32
	maxCommands = 32
	maxBytes    = 8 << 10
)

// maxChanged is the largest number of changed fields of a write that ChangedFields reads.
const maxChanged = 1000

// ChangedFields returns the fields that differ between two objects, as a Command has them. If
// they are more than MaxFields, it replaces fields with a common parent by the parent, the
// deepest parents first.
func (t *Type) ChangedFields(live, updated map[string]any) []string {
	paths := t.Changed(live, updated, maxChanged)
	longest := 0
	for _, path := range paths {
		longest = max(longest, path.Len())
	}
	for depth := longest - 1; depth > 0 && len(paths) > MaxFields; depth-- {
		paths = gathered(paths, depth)
	}
	fields := make([]string, len(paths))
	for i, path := range paths {
		fields[i] = path.String()
	}
	return fields
}

// gathered replaces several paths that have the same first steps, up to depth, by one path with
// these steps.
func gathered(paths []Path, depth int) []Path {
	var out []Path
	at, count := map[string]int{}, map[string]int{}
	for _, path := range paths {
		steps := path.Steps()
		if len(steps) <= depth {
			out = append(out, path)
			continue
		}
		around := newPath(steps[:depth])
		text := around.String()
		if count[text]++; count[text] == 1 {
			at[text], out = len(out), append(out, path)
		} else {
			out[at[text]] = around
		}
	}
	return out
}

// Add adds a write. For each field only the last command is kept.
func (c *Commands) Add(command Command) {
	if len(command.Fields) > MaxFields {
		command.Fields = command.Fields[:MaxFields]
	}
	for len(command.Fields) > 0 && command.size() > maxBytes {
		command.Fields = command.Fields[:len(command.Fields)-1]
	}
	if len(command.Fields) == 0 {
		return
	}
	kept := []Command{command}
	size := command.size()
	for _, old := range c.Entries {
		old.Fields = slices.DeleteFunc(slices.Clone(old.Fields), func(field string) bool {
			return slices.ContainsFunc(command.Fields, func(newer string) bool { return isTextWithin(field, newer) })
		})
		size += old.size()
		if len(old.Fields) == 0 {
			continue
		}
		if len(kept) == maxCommands || size > maxBytes {
			break
		}
		kept = append(kept, old)
	}
	c.Entries = kept
}

func (c *Command) size() int {
	size := len(c.Command) + len(c.Manager) + 64
	for _, field := range c.Fields {
		size += len(field) + 3
	}
	return size
}

// Find returns the last command that wrote a field, a part of it, or a field that
// it is a part of.
func (c *Commands) Find(field string) (Command, bool) {
	for _, command := range c.Entries {
		for _, written := range command.Fields {
			if isTextWithin(field, written) || isTextWithin(written, field) {
				return command, true
			}
		}
	}
	return Command{}, false
}

// source returns the command that made the last write to a field, if it is known. set is the
// source in the managed fields, with an empty name if they have none.
func (c *Commands) source(field string, set Source) (Source, bool) {
	command, ok := c.Find(field)
	if !ok || set.Name != "" && set.Name != command.Manager {
		return Source{}, false
	}
	return Source{Name: command.Command, Time: command.Time.UTC()}, true
}

// isTextWithin reports whether path is equal to other or names a place inside of it.
// It compares the texts of the paths.
func isTextWithin(path, other string) bool {
	rest, ok := strings.CutPrefix(path, other)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// Explain adds the command to findings about fields that another client set, if it
// is known and was the last write.
func (v *Verdict) Explain(commands Commands) {
	for i := range v.Findings {
		f := &v.Findings[i]
		if f.Kind == Overwrites {
			continue
		}
		if source, ok := commands.source(f.Path.String(), f.LastSet); ok && !strings.HasSuffix(source.Name, " apply") {
			f.LastSet = source
		}
	}
}

// NeedsCommands reports whether Explain could add a command.
func (v *Verdict) NeedsCommands() bool {
	return slices.ContainsFunc(v.Findings, func(f Finding) bool { return f.Kind != Overwrites })
}
