package progress

import (
	"fmt"
	"strings"

	"holdfast.dev/holdfast/api"
)

// Tree returns a plan as a tree, with one line for the plan and each phase and step.
func Tree(status api.PlanStatus) []string {
	lines := []string{line("", status.Name, status.Status, status.Message)}
	for i, phase := range status.Phases {
		branch, below := "├── ", "│   "
		if i == len(status.Phases)-1 {
			branch, below = "└── ", "    "
		}
		lines = append(lines, line(branch, phase.Name, phase.Status, phase.Message))
		for j, step := range phase.Steps {
			branch := below + "├── "
			if j == len(phase.Steps)-1 {
				branch = below + "└── "
			}
			lines = append(lines, line(branch, step.Name, step.Status, step.Message))
		}
	}
	return lines
}

// line returns a name with its state and message.
func line(branch, name string, state api.State, message string) string {
	text := fmt.Sprintf("%s%s [%s]", branch, name, state)
	if message = strings.Join(strings.Fields(message), " "); message != "" {
		text += " " + message
	}
	return text
}
