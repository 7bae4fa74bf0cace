package kubectl

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

//go:embed commands.txt series.txt
var scripts embed.FS

//go:embed files
var files embed.FS

// Command is one line of the script.
type Command struct {
	// Text is the command for bash.
	Text string
	// Prepares means that the output of the command does not count.
	Prepares bool
	// Differs says why the outputs differ, empty if they must not.
	Differs string
	// CodeDiffers means that the exit codes differ, too.
	CodeDiffers bool
}

// Commands returns the commands of a script, which is "commands" or "series".
func Commands(script string) ([]Command, error) {
	text, err := scripts.ReadFile(script + ".txt")
	if err != nil {
		return nil, err
	}
	var all []Command
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		command, err := parse(line)
		if err != nil {
			return nil, fmt.Errorf("%s.txt: %w", script, err)
		}
		all = append(all, command)
	}
	return all, nil
}

func parse(line string) (Command, error) {
	if text, ok := strings.CutPrefix(line, "!"); ok {
		return Command{Text: strings.TrimSpace(text), Prepares: true}, nil
	}
	exception, ok := strings.CutPrefix(line, "~")
	if !ok {
		return Command{Text: line}, nil
	}
	exception, codeDiffers := strings.CutPrefix(exception, "~")
	reason, text, ok := strings.Cut(exception, " | ")
	if !ok {
		return Command{}, fmt.Errorf("no command after %q", line)
	}
	return Command{Text: strings.TrimSpace(text), Differs: strings.TrimSpace(reason), CodeDiffers: codeDiffers}, nil
}

// writeFiles writes the files of the script to a directory.
func writeFiles(dir string) error {
	entries, err := files.ReadDir("files")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		data, err := files.ReadFile("files/" + entry.Name())
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, entry.Name()), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}
